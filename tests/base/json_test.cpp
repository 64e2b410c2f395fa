#include "hftrain/base/json.h"

#include <cmath>
#include <limits>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain {
namespace {

TEST_CASE("torn JSON is an error with file, line and column") {
  try {
    parse_json("{\n  \"a\": 1,\n  oops\n}", "x.json");
    FAIL("parsed");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK(error.diagnostics().front().where == "x.json:3:3");
    CHECK(error.diagnostics().front().why.starts_with("parse error at line 3"));
  }
}

std::string brackets(size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST_CASE("a number beyond every type is an error like any other") {
  try {
    parse_json("[2178743189e421]", "some/file");
    FAIL("read");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK(error.diagnostics().front().where == "some/file");
  }
}

TEST_CASE("JSON that is nested so deep that copying it would overflow the stack is refused with its place") {
  const auto limit = static_cast<size_t>(kDeepestJson);
  for (const size_t depth : {limit + 1, size_t{1'000'000}}) {
    try {
      dump_json(Json(parse_json("\n " + brackets(depth), "deep.json")));
      FAIL("parsed");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      CHECK(error.diagnostics().front().where == "deep.json:2:" + std::to_string(limit + 2));
    }
    CHECK_FALSE(try_parse_json(brackets(depth)));
  }
  CHECK(dump_json(parse_json(brackets(limit), "x"), -1) == brackets(limit));
}

TEST_CASE("brackets in strings, comments and side by side do not count as depth") {
  const std::string many = brackets(1000);
  CHECK(parse_json("// \" " + many + "\n[1 /* \" " + many + " */, \"\\\"" + many + "\"]", "x").size() == 2);
  std::string wide = "[";
  for (int i = 0; i < 1000; ++i) wide += "[], ";
  CHECK(parse_json(wide + "{}]", "x").size() == 1001);
  for (const char* torn : {"", "/", "\"", "\"\\", "[/*", "//", "]", "{\"a\": 1"})
    CHECK_FALSE(try_parse_json(torn));
}

TEST_CASE("a number is read as a whole one only when it is one and fits") {
  CHECK(Json(5e8).get<int>() == 500'000'000);
  CHECK(Json(-3).get<int64_t>() == -3);
  CHECK(Json(uint64_t{1} << 63).get<uint64_t>() == uint64_t{1} << 63);
  CHECK_THROWS_AS(Json(2.5).get<int>(), Json::exception);
  CHECK_THROWS_AS(Json(1e300).get<int64_t>(), Json::exception);
  CHECK_THROWS_AS(Json(int64_t{1} << 40).get<int>(), Json::exception);
  CHECK_THROWS_AS(Json(-1).get<uint64_t>(), Json::exception);
  CHECK_THROWS_AS(Json("3").get<int>(), Json::exception);
  CHECK(Json(true).get<bool>());
}

TEST_CASE("what the parser says of a broken text does not repeat all of it") {
  try {
    parse_json('"' + std::string(100'000, 'a'), "x");
    FAIL("parsed");
  } catch (const Error& error) {
    CHECK(error.diagnostics().front().why.size() < 400);
    CHECK_FALSE(error.diagnostics().front().hint.empty());
  }
  try {
    parse_json("{\"a\xCC", "x");
    FAIL("parsed");
  } catch (const Error& error) {
    CHECK(error.render().find('\xCC') == std::string::npos);  // no byte of a terminal's
  }
}

TEST_CASE("a number beyond every double is an error that names the file") {
  for (const char* text : {"1e310", "[1, -1e999]", "{\"a\": 1e400, \"b\": NaN}"}) {
    INFO(text);
    CHECK_REFUSED(parse_json(text, "config.json"), "where: config.json\n");
    CHECK_REFUSED(parse_json(text, "config.json"), "try: correct it there");
    CHECK_FALSE(try_parse_json(text));
  }
}

TEST_CASE("what another process wrote is read with Python's names of numbers, and without comments") {
  const Json read = try_parse_json(R"({"a": NaN, "b": [Infinity, -Infinity], "c": "NaN"})").value();
  CHECK(std::isnan(read["a"].get<double>()));
  CHECK(read["b"] == Json({INFINITY, -INFINITY}));
  CHECK(read["c"] == "NaN");
  for (const char* text : {"[NaN", "[Nan]", "[NaN] // c", "[1, /* NaN */ 2]", "Infinityy"})
    CHECK_FALSE(try_parse_json(text));
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
  // What is written is read back, and words in texts are texts.
  const std::string written = R"({"a": [NaN, -Infinity, 2], "b \" NaN": "Infinity", "c": Infinity})";
  CHECK(dump_json(parse_json(written, "here"), -1) == written);
  CHECK_REFUSED(parse_json("[NaN, oops]", "here"), "not valid JSON\n  where: here:1:");
}

TEST_CASE("an optional is null or its value") {
  const std::optional<int> none, some = 3;
  CHECK(Json(none).is_null());
  CHECK(Json(some).get<std::optional<int>>() == 3);
  CHECK(Json(nullptr).get<std::optional<int>>() == std::nullopt);
}

}  // namespace
}  // namespace hftrain
