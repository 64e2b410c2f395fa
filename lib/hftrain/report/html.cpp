#include "hftrain/report/html.h"

#include <cmath>
#include <cstdio>

namespace hftrain::report {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char character : text) {
    switch (character) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += static_cast<unsigned char>(character) < 0x20 && character != '\n' ? ' ' : character;
    }
  }
  return result;
}

std::string for_script(std::string json) {
  std::string result;
  for (const char character : json) {
    if (character == '<') {
      result += "\\u003c";
    } else {
      result += character;
    }
  }
  return result;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[32];
  const bool whole = std::nearbyint(value) == value && std::abs(value) < 1e15;
  return {text, static_cast<size_t>(std::snprintf(text, sizeof(text), whole ? "%.0f" : "%.6g", value))};
}

std::string table(const Table& content) {
  if (content.rows.empty()) return "";
  std::string text = content.numbers ? "<div class=wide><table class=numbers>" : "<div class=wide><table>";
  text += "<thead><tr>";
  for (const std::string& cell : content.head) text += "<th>" + escaped(cell) + "</th>";
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : content.rows) {
    text += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "<th>" + escaped(row[i]) + "</th>" : "<td>" + escaped(row[i]) + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string section(std::string_view id, std::string_view title, const std::string& body) {
  if (body.empty()) return "";
  return "<section id=\"" + escaped(id) + "\"><h2>" + escaped(title) + "</h2>\n" + body + "</section>\n";
}

std::string folded(std::string_view title, const std::string& body) {
  if (body.empty()) return "";
  return "<details><summary>" + escaped(title) + "</summary>\n" + body + "</details>\n";
}

}  // namespace hftrain::report
