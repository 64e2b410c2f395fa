// BLEU (Papineni and others 2002) as sacrebleu computes it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/metrics/bleu_tokenizers.h"

namespace hftrain::metrics {

// What an order without a match counts: exp halves again and again (NIST), floor and add-k add a value (floor
// to the matches of such an order, add-k to matches and totals of all orders above the first), none nothing.
enum class BleuSmoothing { kExp, kFloor, kAddK, kNone };

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::k13a;
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::kExp;
  std::optional<double> smooth_value;  // floor 0.1, add-k 1
  int max_order = 4;
  bool effective_order =
      false;  // leave out orders that the prediction is too short for; for single sentences
};

// "exp", "floor", "add-k", "none"; kUsage for another word.
BleuSmoothing bleu_smoothing(std::string_view name);

// What BLEU is computed from: sums over sentences.
struct BleuCounts {
  int64_t sys_len = 0;  // words of the predictions
  int64_t ref_len = 0;  // words of the references nearest in length, the shorter of two as near
  std::vector<int64_t> correct, total;  // n-grams of each order: those in a reference, and all

  explicit BleuCounts(int max_order = 4)
      : correct(static_cast<size_t>(max_order)), total(static_cast<size_t>(max_order)) {}
  BleuCounts& operator+=(const BleuCounts& other);
};

// Of one prediction and its references, of which there must be one (kData). Any bytes.
BleuCounts bleu_counts(std::string_view prediction, std::span<const std::string> references,
                       const BleuOptions& options = {});

// The members are sacrebleu's and the result keys of `evaluate`. Percent, but for bp.
struct BleuScore {
  double score = 0;
  std::vector<double> counts, totals;  // with what add-k has added
  std::vector<double> precisions;
  double bp = 1;  // brevity penalty
  int64_t sys_len = 0;
  int64_t ref_len = 0;
};

// 0 without any match. Of a single sentence's counts it is the sentence's BLEU.
BleuScore bleu_score(const BleuCounts& counts, const BleuOptions& options = {});

}  // namespace hftrain::metrics
