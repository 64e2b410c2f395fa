// Text handling shared by every module above and below the line.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain {

std::vector<std::string> split(std::string_view text, char separator);
// Splits on runs of ASCII white space; no empty parts.
std::vector<std::string> split_words(std::string_view text);
std::string trim(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string to_lower(std::string_view text);  // ASCII

// Damerau-Levenshtein distance (optimal string alignment) in bytes; of texts that are further apart than
// `most`, any number above it.
int edit_distance(std::string_view a, std::string_view b, int most = std::numeric_limits<int>::max());
// At most `count` of the candidates that `word` may mean, likeliest first: see suggest_names.
std::vector<std::string> nearest_names(std::string_view word, const std::vector<std::string>& candidates,
                                       size_t count = 2);
// "did you mean --a or --b?" from names, each with `prefix`; empty for none.
std::string did_you_mean(const std::vector<std::string>& names, std::string_view prefix = "");

std::string with_thousands(int64_t value);    // 1234567 -> "1,234,567"
std::string format_bytes(uint64_t bytes);     // 1536 -> "1.5 KiB"
std::string format_duration(double seconds);  // 3725 -> "1:02:05"

}  // namespace hftrain
