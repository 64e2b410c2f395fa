#include "hftrain/metrics/chrf.h"

#include "hftrain/base/text.h"
#include "hftrain/metrics/ngrams.h"
#include "hftrain/metrics/python_text.h"

namespace hftrain::metrics {
namespace {

bool is_punctuation(char32_t c) {
  return c < 0x80 && without_punctuation(std::string(1, static_cast<char>(c))).empty();
}

// Words, with one mark at the end, or else one at the begin, as a word of its own.
std::vector<std::string> chrf_words(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string& word : python_split(text)) {
    const std::u32string letters = characters(word);
    if (letters.size() > 1 && is_punctuation(letters.back())) {
      words.push_back(word.substr(0, word.size() - 1));
      words.push_back(word.substr(word.size() - 1));
    } else if (letters.size() > 1 && is_punctuation(letters.front())) {
      words.push_back(word.substr(0, 1));
      words.push_back(word.substr(1));
    } else {
      words.push_back(word);
    }
  }
  return words;
}

std::vector<NgramCounts> chrf_ngrams(NgramIndex& index, std::string_view text, const ChrfOptions& options) {
  const std::string cased = options.lowercase ? python_lower(text) : std::string(text);
  const std::string kept = options.whitespace ? cased : join(python_split(cased), "");
  std::vector<NgramCounts> orders = index.count(index.characters(characters(kept)), options.char_order);
  if (options.word_order > 0) {
    for (NgramCounts& words : index.count(index.words(chrf_words(cased)), options.word_order)) {
      orders.push_back(std::move(words));
    }
  }
  return orders;
}

ChrfCounts compare(const std::vector<NgramCounts>& predicted, const std::vector<NgramCounts>& actual,
                   const ChrfOptions& options) {
  ChrfCounts counts(options);
  for (size_t n = 0; n < counts.orders.size(); ++n) {
    // An order that the reference is too short for does not count against the prediction.
    counts.orders[n].predicted = actual[n].empty() ? 0 : total(predicted[n]);
    counts.orders[n].actual = total(actual[n]);
    counts.orders[n].shared = overlap(predicted[n], actual[n]);
  }
  return counts;
}

}  // namespace

ChrfCounts& ChrfCounts::operator+=(const ChrfCounts& other) {
  for (size_t n = 0; n < orders.size(); ++n) {
    orders[n].predicted += other.orders[n].predicted;
    orders[n].actual += other.orders[n].actual;
    orders[n].shared += other.orders[n].shared;
  }
  return *this;
}

ChrfCounts chrf_counts(std::string_view prediction, std::span<const std::string> references,
                       const ChrfOptions& options) {
  require_references(references);
  NgramIndex index;
  const auto predicted = chrf_ngrams(index, prediction, options);
  ChrfCounts best(options);
  double best_score = -1;
  for (const std::string& reference : references) {
    const ChrfCounts counts = compare(predicted, chrf_ngrams(index, reference, options), options);
    const double score = chrf_score(counts, options);
    if (score > best_score) best = counts, best_score = score;
  }
  return best;
}

double chrf_score(const ChrfCounts& counts, const ChrfOptions& options) {
  constexpr double kLittle = 1e-16;
  const double factor = options.beta * options.beta;
  const auto f_score = [&](double precision, double recall) {
    const double denominator = factor * precision + recall;
    return denominator > 0 ? (1 + factor) * precision * recall / denominator : 0;
  };
  double sum = 0, precisions = 0, recalls = 0;
  int orders = 0;
  for (const ChrfCounts::Order& order : counts.orders) {
    const auto shared = static_cast<double>(order.shared);
    const double precision = order.predicted > 0 ? shared / static_cast<double>(order.predicted) : kLittle;
    const double recall = order.actual > 0 ? shared / static_cast<double>(order.actual) : kLittle;
    sum += factor * precision + recall > 0 ? f_score(precision, recall) : kLittle;
    if (order.predicted == 0 || order.actual == 0) continue;
    precisions += precision;
    recalls += recall;
    ++orders;
  }
  if (options.eps_smoothing) return 100 * sum / static_cast<double>(counts.orders.size());
  return orders == 0 ? 0 : 100 * f_score(precisions / orders, recalls / orders);
}

}  // namespace hftrain::metrics
