// str.strip, .split, .splitlines and .partition.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace hftrain::chat {

enum class Side { kLeft, kRight, kBoth };

// Without the characters of `set` (unset: blanks) at its ends.
std::string_view stripped(std::string_view text, std::optional<std::string_view> set, Side side);

// str.split and str.rsplit at `separator`, which is not empty (unset: at runs of blanks, without empty parts); at most
// `limit` cuts, from the left or the right, all where it is below 0.
std::vector<std::string_view> split_at(std::string_view text, std::optional<std::string_view> separator,
                                       int64_t limit, Side from);

std::vector<std::string_view> lines_of(std::string_view text, bool keep_ends);

}  // namespace hftrain::chat
