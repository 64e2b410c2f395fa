// Pieces of HTML text. What comes from a run (names, paths, messages) is a stranger's text: it passes escaped() or table().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hftrain::report {

// Without a meaning in HTML, in text and in attributes between double quotes; control characters but line ends become spaces.
std::string escaped(std::string_view text);

// JSON that may stand inside a <script> element.
std::string for_script(std::string json);

// At most 6 significant digits, "0.00012" as 0.00012, whole numbers below 1e15 in full; nan, inf.
std::string number_text(double value);

struct Table {
  std::vector<std::string> head;               // plain text
  std::vector<std::vector<std::string>> rows;  // plain text; the first cell names the row
  bool numbers = false;                        // cells but the first stand on the right
};
// A table that scrolls by itself when it is wide; empty text for no rows.
std::string table(const Table& content);

// A section with a heading; empty text for an empty body. `body` is HTML.
std::string section(std::string_view id, std::string_view title, const std::string& body);
// One that is closed until it is opened.
std::string folded(std::string_view title, const std::string& body);

}  // namespace hftrain::report
