#include "hftrain/generation/stop_strings.h"

#include <algorithm>
#include <utility>

namespace hftrain::generation {
namespace {

// Beside one token a byte: tokens without text of their own (parts of a character, special ones) stand between.
constexpr size_t kMoreTokens = 16;

}  // namespace

StopStrings::StopStrings(std::vector<std::string> stops, DecodeIds decode)
    : stops_(std::move(stops)), decode_(std::move(decode)) {
  for (const std::string& stop : stops_) window_ = std::max(window_, stop.size() + kMoreTokens);
}

bool StopStrings::reached(std::span<const int64_t> generated) const {
  if (stops_.empty()) return false;
  const std::string text = decode_(generated.last(std::min(generated.size(), window_)));
  return std::ranges::any_of(stops_,
                             [&](const std::string& stop) { return text.find(stop) != std::string::npos; });
}

}  // namespace hftrain::generation
