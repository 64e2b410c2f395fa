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

}  // namespace hftrain
