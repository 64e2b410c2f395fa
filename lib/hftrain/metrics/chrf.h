// chrF and chrF++ (Popovic 2015, 2017) as sacrebleu computes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::metrics {

struct ChrfOptions {
  int char_order = 6;
  int word_order = 0;  // 2: chrF++
  int beta = 2;        // how much more recall counts than precision
  bool lowercase = false;
  bool whitespace = false;     // keep spaces in n-grams of characters
  bool eps_smoothing = false;  // the mean of the orders' scores instead of the score of their mean
};

// For each order (those of characters, then those of words): n-grams of the prediction, of the reference, and
// shared ones. Sums over sentences.
struct ChrfCounts {
  struct Order {
    int64_t predicted = 0;
    int64_t actual = 0;
    int64_t shared = 0;
  };
  std::vector<Order> orders;

  explicit ChrfCounts(const ChrfOptions& options = {})
      : orders(static_cast<size_t>(options.char_order + options.word_order)) {}
  ChrfCounts& operator+=(const ChrfCounts& other);
};

// Those of the reference with the highest score (the first of equals); there must be one (kData). Any bytes.
ChrfCounts chrf_counts(std::string_view prediction, std::span<const std::string> references,
                       const ChrfOptions& options = {});

// Percent.
double chrf_score(const ChrfCounts& counts, const ChrfOptions& options = {});

}  // namespace hftrain::metrics
