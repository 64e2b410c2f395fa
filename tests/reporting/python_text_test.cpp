#include "hftrain/reporting/python_text.h"

#include <cstring>
#include <random>

#include "golden.h"
#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::reporting {
namespace {

double from_bits(const std::string& hex) {
  const uint64_t bits = std::stoull(hex, nullptr, 16);
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST_CASE("numbers are spelled as Python spells them", "[reporting]") {
  const Json cases = testing::golden("numbers.json");
  REQUIRE(cases.size() > 300);
  for (const Json& item : cases) {
    const double value = from_bits(item[0]);
    INFO(item.dump());
    CHECK(python_repr(value) == item[1].get<std::string>());
    CHECK(python_general(value, 4) == item[2].get<std::string>());
    CHECK(python_repr(python_round(value, 4)) == item[3].get<std::string>());
  }
}

TEST_CASE("the spelling of any double reads back as the same double", "[reporting]") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const double back = std::strtod(python_repr(value).c_str(), nullptr);
    REQUIRE(std::memcmp(&back, &value, sizeof value) == 0);
  }
}

TEST_CASE("JSON and repr of values are those of Python", "[reporting]") {
  for (const Json& item : testing::golden("texts.json")) {
    const Json value = testing::restored(item.at("value"));
    INFO(item.dump());
    if (item.at("repr").is_string()) CHECK(python_repr(value) == item.at("repr").get<std::string>());
    CHECK(python_json(value, 2) == item.at("indent_2").get<std::string>());
    CHECK(python_json(value, 4) == item.at("indent_4").get<std::string>());
    CHECK(python_json(value, -1) == item.at("line").get<std::string>());
  }
}

TEST_CASE("what Python writes is read back, numbers included that JSON has no word for", "[reporting]") {
  for (const Json& item : testing::golden("texts.json")) {
    const auto line = item.at("line").get<std::string>();
    INFO(line);
    CHECK(python_json(parse_json(line, "here"), -1) == line);
  }
  const std::string text =
      R"({"NaN": [NaN, Infinity, -Infinity, 1.5], "note": "NaN, \"Infinity\" and \\", "rest": -3})";
  CHECK(python_json(parse_json(text, "here"), -1) == text);
  for (const char* wrong : {"", "{", "[Nan]", "[+Infinity]", "[NaNa]", "\"NaN"}) {
    INFO(wrong);
    CHECK_REFUSED(parse_json(wrong, "here"), "not valid JSON");
  }
}

TEST_CASE("bytes that are no UTF-8 do not stop a report", "[reporting]") {
  CHECK_NOTHROW(python_json(Json("\xff\xfe"), -1));
  CHECK_NOTHROW(python_repr(Json("\xff\xfe")));
}

}  // namespace
}  // namespace hftrain::reporting
