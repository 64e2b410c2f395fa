#include "hftrain/base/path_pattern.h"

#include "support/catch.h"

namespace hftrain {

TEST_CASE("patterns of paths are those of Python's fnmatch", "[base]") {
  CHECK(fits_a_pattern("sub/deep/a", {"nothing", "*/*"}));
  CHECK(fits_a_pattern("a1", {"a[0-9]"}));
  CHECK_FALSE(fits_a_pattern("ab", {"a[0-9]", "a", "b"}));
  CHECK(fits_a_pattern("a\\b", {"a\\b"}));  // a backslash is a letter
  CHECK_FALSE(fits_a_pattern("a", {}));
}

TEST_CASE("the pattern of a text fits it alone", "[base]") {
  for (const char* text : {"a[1]*.safetensors", "[?]", "plain", "a]b"})
    CHECK(fits_a_pattern(text, {pattern_of(text)}));
  CHECK_FALSE(fits_a_pattern("a1", {pattern_of("a[1]")}));
  CHECK_FALSE(fits_a_pattern("ab", {pattern_of("a?")}));
  CHECK(pattern_of("a[1]*") == "a[[]1][*]");
  CHECK(is_pattern("run[1]"));
  CHECK_FALSE(is_pattern("run-1]"));
}

}  // namespace hftrain
