#include "hftrain/base/printable.h"

#include "support/catch.h"

namespace hftrain {

TEST_CASE("text that could act on a terminal is written out, other text stays") {
  CHECK(printable("plain, tab\there, ümlaut, 日本, 😀") == "plain, tab\there, ümlaut, 日本, 😀");
  CHECK(printable("\x1b[31mred\x07\r\x7f") == "\\x1b[31mred\\x07\\x0d\\x7f");
  CHECK(printable(std::string(1, '\0') + "b") == "\\x00b");
  CHECK(printable("\xc2\x9b"
                  "31m") ==
        "\\x9b"
        "31m");  // CSI as one character
  CHECK(printable("a\xe2\x80\xae"
                  "b") ==
        "a\\u202e"
        "b");
  CHECK(printable("a\nb") == "a\\x0ab");
  CHECK(printable("a\nb", Lines::kMany) == "a\nb");
  // Not UTF-8: alone, cut short, in a form that is too long.
  CHECK(printable("\xff\xc3") == "\\xff\\xc3");
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");
}

TEST_CASE("every text of a value is made printable, its keys too") {
  Json value = {{"a\x1b", {"b\x1b", 1, nullptr, {{"c", "d\ne"}}}}};
  make_printable(value, Lines::kMany);
  CHECK(value == Json{{"a\\x1b", {"b\\x1b", 1, nullptr, {{"c", "d\ne"}}}}});
}

TEST_CASE("the first byte that is no UTF-8 is found") {
  CHECK(!first_invalid_utf8("caf\xc3\xa9 \xf0\x9f\x98\x80 \xef\xbf\xbf"));
  CHECK(first_invalid_utf8("caf\xe9") == 3);
  CHECK(first_invalid_utf8("ab\xc0\x80") == 2);        // an overlong 0
  CHECK(first_invalid_utf8("a\xed\xa0\x80") == 1);     // half of a surrogate pair
  CHECK(first_invalid_utf8("\xf4\x90\x80\x80") == 0);  // above U+10FFFF
  CHECK(first_invalid_utf8("\xe0\x80\xaf") == 0);
  CHECK(first_invalid_utf8("ok\xe2\x82") == 2);  // cut off
}

}  // namespace hftrain
