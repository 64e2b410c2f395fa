// Counts of n-grams of words, for the metrics that compare them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace hftrain::metrics {

// n-gram number -> how often.
using NgramCounts = std::unordered_map<int, int64_t>;

// Gives every n-gram a number of its own: equal ones of any text and of any order have equal numbers, exactly
// (nothing is hashed away).
class NgramIndex {
 public:
  std::vector<int> words(std::span<const std::string> words);
  // Counts for each order from 1 to `highest`, of a text given as the numbers of its words.
  std::vector<NgramCounts> count(std::span<const int> text, int highest);

 private:
  int number_of(uint64_t key);

  std::unordered_map<std::string, int> words_;
  std::unordered_map<uint64_t, int> longer_;  // (number of the n-gram without its last word, that word)
  int next_ = 0;
};

int64_t total(const NgramCounts& counts);
// The sum over n-grams of the lesser count.
int64_t overlap(const NgramCounts& a, const NgramCounts& b);

// No reference to count what a prediction shares with: Error (exit code 4).
void require_references(std::span<const std::string> references);

}  // namespace hftrain::metrics
