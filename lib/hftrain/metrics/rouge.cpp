#include "hftrain/metrics/rouge.h"

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/metrics/ngrams.h"
#include "hftrain/metrics/porter_stemmer.h"
#include "hftrain/metrics/python_text.h"
#include "hftrain/metrics/shared_subsequence.h"

namespace hftrain::metrics {
namespace {

using WordNumbers = std::vector<int>;

RougeScore rouge_score(int64_t shared, size_t predicted, size_t actual) {
  RougeScore score;
  score.precision = static_cast<double>(shared) / static_cast<double>(std::max<size_t>(predicted, 1));
  score.recall = static_cast<double>(shared) / static_cast<double>(std::max<size_t>(actual, 1));
  const double sum = score.precision + score.recall;
  if (sum > 0) score.f1 = 2 * score.precision * score.recall / sum;
  return score;
}

RougeScore ngram_score(NgramIndex& index, const WordNumbers& prediction, const WordNumbers& reference,
                       int order) {
  const NgramCounts predicted = index.count(prediction, order).back();
  const NgramCounts actual = index.count(reference, order).back();
  return rouge_score(overlap(actual, predicted), static_cast<size_t>(total(predicted)),
                     static_cast<size_t>(total(actual)));
}

// The words of each line that is not empty.
std::vector<WordNumbers> sentences(NgramIndex& index, std::string_view text, bool use_stemmer) {
  std::vector<WordNumbers> lines;
  for (const std::string& line : split(text, '\n')) {
    if (!line.empty()) lines.push_back(index.words(rouge_words(line, use_stemmer)));
  }
  return lines;
}

NgramCounts count_words(const std::vector<WordNumbers>& lines) {
  NgramCounts counts;
  for (const WordNumbers& line : lines) {
    for (const int word : line) ++counts[word];
  }
  return counts;
}

// A word of the reference is hit when it is in a subsequence shared with any line of the prediction, as often
// as either text has the word.
RougeScore sentences_score(const std::vector<WordNumbers>& prediction,
                           const std::vector<WordNumbers>& reference) {
  NgramCounts left_predicted = count_words(prediction), left_actual = count_words(reference);
  const auto predicted = static_cast<size_t>(total(left_predicted));
  const auto actual = static_cast<size_t>(total(left_actual));
  int64_t hits = 0;
  for (const WordNumbers& line : reference) {
    std::vector<bool> in_union(line.size());
    for (const WordNumbers& candidate : prediction) mark_shared_subsequence(line, candidate, in_union);
    for (size_t i = 0; i < line.size(); ++i) {
      if (!in_union[i] || left_predicted[line[i]] <= 0 || left_actual[line[i]] <= 0) continue;
      ++hits;
      --left_predicted[line[i]];
      --left_actual[line[i]];
    }
  }
  return rouge_score(hits, predicted, actual);
}

}  // namespace

std::vector<std::string> rouge_words(std::string_view text, bool use_stemmer) {
  std::vector<std::string> words(1);
  for (const char c : python_lower(text)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  if (use_stemmer) {
    for (std::string& word : words) {
      if (word.size() > 3) word = porter_stem(word);
    }
  }
  return words;
}

RougeKind rouge_kind(std::string_view name) {
  if (name == "rougeL") return {RougeKind::Unit::kText, 0};
  if (name == "rougeLsum") return {RougeKind::Unit::kSentences, 0};
  if (name.size() == 6 && name.starts_with("rouge") && name[5] >= '1' && name[5] <= '9') {
    return {RougeKind::Unit::kNgrams, name[5] - '0'};
  }
  throw Error(ExitCode::kUsage, "unknown kind of ROUGE '" + std::string(name) + "'")
      .where("metrics")
      .why("it is made of n-grams or of longest common subsequences")
      .hint("one of rouge1 to rouge9, rougeL and rougeLsum");
}

std::vector<RougeScore> rouge(std::string_view prediction, std::string_view reference,
                              std::span<const RougeKind> kinds, bool use_stemmer) {
  NgramIndex index;
  const WordNumbers predicted = index.words(rouge_words(prediction, use_stemmer));
  const WordNumbers actual = index.words(rouge_words(reference, use_stemmer));
  std::vector<RougeScore> scores;
  for (const RougeKind& kind : kinds) {
    switch (kind.unit) {
      case RougeKind::Unit::kNgrams:
        scores.push_back(ngram_score(index, predicted, actual, kind.order));
        break;
      case RougeKind::Unit::kText:
        scores.push_back(rouge_score(static_cast<int64_t>(shared_subsequence_length(predicted, actual)),
                                     predicted.size(), actual.size()));
        break;
      case RougeKind::Unit::kSentences:
        scores.push_back(sentences_score(sentences(index, prediction, use_stemmer),
                                         sentences(index, reference, use_stemmer)));
        break;
    }
  }
  return scores;
}

std::vector<RougeScore> rouge(std::string_view prediction, std::span<const std::string> references,
                              std::span<const RougeKind> kinds, bool use_stemmer) {
  std::vector<RougeScore> best(kinds.size());
  for (size_t i = 0; i < references.size(); ++i) {
    const auto scores = rouge(prediction, std::string_view(references[i]), kinds, use_stemmer);
    for (size_t kind = 0; kind < kinds.size(); ++kind) {
      if (i == 0 || scores[kind].f1 > best[kind].f1) best[kind] = scores[kind];
    }
  }
  return best;
}

}  // namespace hftrain::metrics
