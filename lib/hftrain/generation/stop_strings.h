// Texts at which generation ends.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace hftrain::generation {

// The text of tokens, special ones included. Must be callable as long as its owner lives.
using DecodeIds = std::function<std::string(std::span<const int64_t>)>;

class StopStrings {
 public:
  StopStrings(std::vector<std::string> stops, DecodeIds decode);
  // Whether one of them stands in the last tokens of what was generated: to be asked after each token. It may begin and
  // end within tokens.
  bool reached(std::span<const int64_t> generated) const;

 private:
  std::vector<std::string> stops_;
  DecodeIds decode_;
  size_t window_ = 0;  // tokens
};

}  // namespace hftrain::generation
