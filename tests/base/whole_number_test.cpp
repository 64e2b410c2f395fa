#include "hftrain/base/whole_number.h"

#include "support/catch.h"

namespace hftrain {

TEST_CASE("a whole number is the whole text, from 0, and fits its type") {
  CHECK(whole_number("0") == 0);
  CHECK(whole_number("017") == 17);
  CHECK(whole_number<uint64_t>("18446744073709551615") == 18446744073709551615U);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1x", "0x10", "2147483648"}) {
    INFO('\'' << text << '\'');
    CHECK_FALSE(whole_number(text));
  }
}

TEST_CASE("a signed number may begin with a minus") {
  CHECK(signed_number("-3") == -3);
  CHECK(signed_number<double>("2.5") == 2.5);
  CHECK_FALSE(signed_number("--3"));
  CHECK_FALSE(signed_number(""));
}

TEST_CASE("a leading integer is read as far as it goes") {
  CHECK(leading_integer("3,2") == 3);
  CHECK(leading_integer("  -7 kB") == -7);
  CHECK_FALSE(leading_integer("max"));
  CHECK_FALSE(leading_integer("99999999999999999999"));
}

}  // namespace hftrain
