#include "hftrain/interchange/mersenne_twister.h"

#include <algorithm>
#include <vector>

namespace hftrain::interchange {
namespace {

uint32_t mixed(uint32_t before) {
  return before ^ (before >> 30);
}

}  // namespace

// Makoto Matsumoto and Takuji Nishimura, mt19937ar.c (2002).
TwisterWords numpy_twister(uint32_t seed) {
  TwisterWords words{};
  words[0] = seed;
  for (uint32_t i = 1; i < words.size(); ++i) words[i] = 1812433253U * mixed(words[i - 1]) + i;
  return words;
}

TwisterWords python_twister(uint64_t seed) {
  std::vector<uint32_t> key = {static_cast<uint32_t>(seed)};
  if (seed >> 32 != 0) key.push_back(static_cast<uint32_t>(seed >> 32));
  TwisterWords words = numpy_twister(19650218U);
  size_t i = 1, j = 0;
  const auto next = [&] {
    if (++i < words.size()) return;
    words[0] = words.back();
    i = 1;
  };
  for (size_t k = std::max(words.size(), key.size()); k > 0; --k) {
    words[i] = (words[i] ^ (mixed(words[i - 1]) * 1664525U)) + key[j] + static_cast<uint32_t>(j);
    next();
    j = (j + 1) % key.size();
  }
  for (size_t k = words.size() - 1; k > 0; --k) {
    words[i] = (words[i] ^ (mixed(words[i - 1]) * 1566083941U)) - static_cast<uint32_t>(i);
    next();
  }
  words[0] = 0x80000000U;
  return words;
}

}  // namespace hftrain::interchange
