#include "hftrain/metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "hftrain/base/error.h"
#include "hftrain/metrics/ngrams.h"

namespace hftrain::metrics {
namespace {

// sacrebleu's logarithm of nothing.
double log_or_floor(double value) {
  return value == 0 ? -9999999999.0 : std::log(value);
}

bool is_nearer(size_t length, size_t best, size_t wanted) {
  const auto distance = [&](size_t a) { return a > wanted ? a - wanted : wanted - a; };
  return distance(length) < distance(best) || (distance(length) == distance(best) && length < best);
}

double brevity_penalty(int64_t sys_len, int64_t ref_len) {
  if (sys_len >= ref_len) return 1;
  return sys_len > 0 ? std::exp(1 - static_cast<double>(ref_len) / static_cast<double>(sys_len)) : 0;
}

double smooth_value(const BleuOptions& options) {
  return options.smooth_value.value_or(options.smoothing == BleuSmoothing::kFloor ? 0.1 : 1);
}

// Fills in the precisions of the orders that the predictions have n-grams of; returns how many.
int fill_precisions(BleuScore& score, const BleuOptions& options) {
  double shrink = 1;
  int orders = 0;
  for (size_t n = 0; n < score.precisions.size(); ++n, ++orders) {
    if (options.smoothing == BleuSmoothing::kAddK && n > 0) {
      score.counts[n] += smooth_value(options);
      score.totals[n] += smooth_value(options);
    }
    if (score.totals[n] == 0) break;
    double matches = score.counts[n];
    if (matches == 0 && options.smoothing == BleuSmoothing::kExp) matches = 1 / (shrink *= 2);
    if (matches == 0 && options.smoothing == BleuSmoothing::kFloor) matches = smooth_value(options);
    score.precisions[n] = 100 * matches / score.totals[n];
  }
  return orders;
}

}  // namespace

BleuSmoothing bleu_smoothing(std::string_view name) {
  if (name == "exp") return BleuSmoothing::kExp;
  if (name == "floor") return BleuSmoothing::kFloor;
  if (name == "add-k") return BleuSmoothing::kAddK;
  if (name == "none") return BleuSmoothing::kNone;
  throw Error(ExitCode::kUsage, "unknown smoothing of BLEU '" + std::string(name) + "'")
      .where("metrics")
      .why("it decides what n-grams without a match count")
      .hint("one of exp, floor, add-k and none");
}

BleuCounts& BleuCounts::operator+=(const BleuCounts& other) {
  sys_len += other.sys_len;
  ref_len += other.ref_len;
  for (size_t n = 0; n < total.size(); ++n) {
    correct[n] += other.correct[n];
    total[n] += other.total[n];
  }
  return *this;
}

BleuCounts bleu_counts(std::string_view prediction, std::span<const std::string> references,
                       const BleuOptions& options) {
  require_references(references);
  NgramIndex index;
  const auto words_of = [&](std::string_view text) {
    return index.words(bleu_words(text, options.tokenizer, options.lowercase));
  };
  const std::vector<int> words = words_of(prediction);
  std::vector<NgramCounts> most(static_cast<size_t>(options.max_order));  // over references
  size_t nearest = 0;
  for (size_t i = 0; i < references.size(); ++i) {
    const std::vector<int> reference = words_of(references[i]);
    if (i == 0 || is_nearer(reference.size(), nearest, words.size())) nearest = reference.size();
    const auto ngrams = index.count(reference, options.max_order);
    for (size_t n = 0; n < most.size(); ++n) {
      for (const auto& [ngram, count] : ngrams[n]) most[n][ngram] = std::max(most[n][ngram], count);
    }
  }
  BleuCounts counts(options.max_order);
  counts.sys_len = static_cast<int64_t>(words.size());
  counts.ref_len = static_cast<int64_t>(nearest);
  const auto ngrams = index.count(words, options.max_order);
  for (size_t n = 0; n < most.size(); ++n) {
    counts.correct[n] = overlap(ngrams[n], most[n]);
    counts.total[n] = total(ngrams[n]);
  }
  return counts;
}

BleuScore bleu_score(const BleuCounts& counts, const BleuOptions& options) {
  BleuScore score;
  score.counts.assign(counts.correct.begin(), counts.correct.end());
  score.totals.assign(counts.total.begin(), counts.total.end());
  score.precisions.resize(counts.total.size());
  score.bp = brevity_penalty(counts.sys_len, counts.ref_len);
  score.sys_len = counts.sys_len;
  score.ref_len = counts.ref_len;
  const auto has_match = [](int64_t count) { return count != 0; };
  if (std::none_of(counts.correct.begin(), counts.correct.end(), has_match)) return score;
  const int present = fill_precisions(score, options);
  const int orders = options.effective_order ? present : static_cast<int>(score.precisions.size());
  double logarithms = 0;
  for (int n = 0; n < orders; ++n) logarithms += log_or_floor(score.precisions[static_cast<size_t>(n)]);
  score.score = score.bp * std::exp(logarithms / orders);
  return score;
}

}  // namespace hftrain::metrics
