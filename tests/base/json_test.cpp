#include "hftrain/base/json.h"

#include <limits>

#include "hftrain/base/error.h"
#include "support/catch.h"

namespace hftrain {
namespace {

TEST_CASE("torn JSON is an error with file, line and column") {
  try {
    parse_json("{\n  \"a\": 1,\n  oops\n}", "x.json");
    FAIL("parsed");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK(error.diagnostics().front().where == "x.json:3:3");
  }
}

TEST_CASE("comments are accepted") {
  CHECK(parse_json("{/* a */ \"b\": 1 // c\n}", "x").at("b") == 1);
}

TEST_CASE(
    "files look as transformers writes them: sorted keys, two spaces, Python's names for what JSON lacks") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Json value = {{"b", {1, 2}}, {"a", "ü"}, {"n", -infinity}, {"e", Json::object()}};
  CHECK(dump_json(value) ==
        "{\n  \"a\": \"ü\",\n  \"b\": [\n    1,\n    2\n  ],\n  \"e\": {},\n  \"n\": -Infinity\n}");
  CHECK(dump_json(Json{1.0, std::numeric_limits<double>::quiet_NaN()}, -1) == "[1.0, NaN]");
}

TEST_CASE("an optional is null or its value") {
  const std::optional<int> none, some = 3;
  CHECK(Json(none).is_null());
  CHECK(Json(some).get<std::optional<int>>() == 3);
  CHECK(Json(nullptr).get<std::optional<int>>() == std::nullopt);
}

}  // namespace
}  // namespace hftrain
