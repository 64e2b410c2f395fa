#include "hftrain/base/text.h"

#include "support/catch.h"

namespace hftrain {
namespace {

using Strings = std::vector<std::string>;

TEST_CASE("splitting keeps empty parts, words do not") {
  CHECK(split("a,,b,", ',') == Strings{"a", "", "b", ""});
  CHECK(split("", ',') == Strings{""});
  CHECK(split_words("  a\tb \n") == Strings{"a", "b"});
  CHECK(join(split("a,,b", ','), ",") == "a,,b");
  CHECK(trim(" \ta b\n") == "a b");
}

TEST_CASE("edit distance counts a swap of neighbours once") {
  CHECK(edit_distance("learning", "lerning") == 1);
  CHECK(edit_distance("bf16", "fb16") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("ab", "bca") == 3);
  CHECK(edit_distance("warmup_steps", "wramup_stpes") == 2);
  CHECK(edit_distance("warmup_steps", "wramup_stpes", 2) == 2);
  CHECK(edit_distance("warmup_steps", "learning_rate", 2) > 2);
}

TEST_CASE("the nearest names come first, far ones not at all") {
  const Strings names = {"learning_rate", "warmup_steps", "logging_steps", "seed"};
  CHECK(nearest_names("lerning_rate", names) == Strings{"learning_rate"});
  CHECK(nearest_names("sede", names) == Strings{"seed"});
  CHECK(nearest_names("completely_unrelated", names).empty());
  CHECK(did_you_mean({"a", "b"}, "--") == "did you mean --a or --b?");
}

TEST_CASE("numbers for people") {
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(-1234567) == "-1,234,567");
  CHECK(with_thousands(std::numeric_limits<int64_t>::min()) == "-9,223,372,036,854,775,808");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_duration(3725) == "1:02:05");
}

}  // namespace
}  // namespace hftrain
