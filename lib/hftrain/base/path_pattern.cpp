#include "hftrain/base/path_pattern.h"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>

namespace hftrain {
namespace {

constexpr std::string_view kSpecial = "*?[";

}  // namespace

bool fits_a_pattern(const std::string& path, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), path.c_str(), FNM_NOESCAPE) == 0;  // Python's knows no escapes
  });
}

std::string pattern_of(const std::string& text) {
  std::string pattern;
  for (const char letter : text)
    pattern += kSpecial.find(letter) == std::string_view::npos ? std::string(1, letter)
                                                               : std::string{'[', letter, ']'};
  return pattern;
}

bool is_pattern(const std::string& text) {
  return text.find_first_of(kSpecial) != std::string::npos;
}

}  // namespace hftrain
