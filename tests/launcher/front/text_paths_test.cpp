#include "launcher/front/text_paths.h"

#include "hftrain/base/error.h"
#include "support/catch.h"

namespace hftrain::front {
namespace {

std::string refusal(const Json& plan) {
  try {
    require_text_in_plan(plan);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.render();
  }
  return "";
}

}  // namespace

TEST_CASE("a plan with a name that is not UTF-8 is refused with the name, wherever it stands") {
  CHECK(refusal({{"output_dir", "/caf\xc3\xa9"}, {"steps", 3}, {"files", {"a", nullptr, 1.5}}}).empty());
  CHECK_THAT(refusal({{"output_dir", "/caf\xe9"}}), Catch::Contains("/caf\\xe9"));
  CHECK_THAT(refusal({{"data", {{"files", {"a", "b\xff"}}}}}), Catch::Contains("b\\xff"));
  CHECK_THAT(refusal({{"hashes", {{"c\xfe", 1}}}}), Catch::Contains("c\\xfe"));
}

TEST_CASE("a folder that is not UTF-8 is refused by what names it") {
  CHECK_NOTHROW(require_text("/caf\xc3\xa9", "the current folder"));
  try {
    require_text("/caf\xe9", "the folder of prepared data");
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK_THAT(error.render(), Catch::Contains("the folder of prepared data: /caf\\xe9"));
  }
}

}  // namespace hftrain::front
