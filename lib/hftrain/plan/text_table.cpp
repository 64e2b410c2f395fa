#include "hftrain/plan/text_table.h"

#include <algorithm>

#include "hftrain/base/text.h"

namespace hftrain::plan {
namespace {

// Characters, not bytes: every byte of UTF-8 but the continuation bytes starts one.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string format_table(const std::vector<std::vector<std::string>>& rows, size_t indent) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    text.append(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - width_of(row[i]) + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

std::string bytes_text(int64_t count) {
  return format_bytes(static_cast<uint64_t>(std::max<int64_t>(count, 0)));
}

}  // namespace hftrain::plan
