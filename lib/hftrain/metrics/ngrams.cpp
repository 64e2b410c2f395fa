#include "hftrain/metrics/ngrams.h"

#include <algorithm>

#include "hftrain/base/error.h"

namespace hftrain::metrics {

std::vector<int> NgramIndex::words(std::span<const std::string> words) {
  std::vector<int> numbers;
  for (const std::string& word : words) {
    const auto [found, is_new] = words_.try_emplace(word, next_);
    next_ += is_new;
    numbers.push_back(found->second);
  }
  return numbers;
}

int NgramIndex::number_of(uint64_t key) {
  const auto [found, is_new] = longer_.try_emplace(key, next_);
  next_ += is_new;
  return found->second;
}

std::vector<NgramCounts> NgramIndex::count(std::span<const int> text, int highest) {
  std::vector<NgramCounts> orders(static_cast<size_t>(highest));
  std::vector<int> numbers(text.begin(), text.end());
  for (size_t order = 1; order <= orders.size() && order <= text.size(); ++order) {
    for (size_t i = 0; i + order <= text.size(); ++i) {
      if (order > 1) {
        const auto last = static_cast<uint64_t>(text[i + order - 1]);
        numbers[i] = number_of(static_cast<uint64_t>(numbers[i]) << 32 | last);
      }
      ++orders[order - 1][numbers[i]];
    }
  }
  return orders;
}

int64_t total(const NgramCounts& counts) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : counts) sum += count;
  return sum;
}

int64_t overlap(const NgramCounts& a, const NgramCounts& b) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : a) {
    const auto found = b.find(ngram);
    if (found != b.end()) sum += std::min(count, found->second);
  }
  return sum;
}

void require_references(std::span<const std::string> references) {
  if (!references.empty()) return;
  throw Error(ExitCode::kData, "an example has no reference to compare its prediction with")
      .where("metrics")
      .why("BLEU counts what predictions share with references")
      .hint("leave such examples out");
}

}  // namespace hftrain::metrics
