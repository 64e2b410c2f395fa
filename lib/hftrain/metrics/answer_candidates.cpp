#include "hftrain/metrics/answer_candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "hftrain/metrics/python_text.h"

namespace hftrain::metrics {
namespace {

// NaN, which a diverged model gives, compares as the least.
float comparable(float value) {
  return std::isnan(value) ? -std::numeric_limits<float>::infinity() : value;
}

// Positions of the largest logits, largest first.
std::vector<size_t> largest(std::span<const float> logits, int count) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t kept = std::min(order.size(), static_cast<size_t>(std::max(count, 0)));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [&](size_t a, size_t b) {
                      const float x = comparable(logits[a]), y = comparable(logits[b]);
                      return x != y ? x > y : a > b;
                    });
  order.resize(kept);
  return order;
}

bool is_answer(const AnswerFeature& feature, size_t start, size_t end, const AnswerRules& rules) {
  if (start >= feature.spans.size() || end >= feature.spans.size()) return false;
  if (feature.spans[start].begin < 0 || feature.spans[end].begin < 0) return false;
  return end >= start && end - start < static_cast<size_t>(std::max(rules.max_answer_length, 0));
}

// Sorted by falling score, equal ones as they were, and cut to n_best_size.
void keep_best(std::vector<AnswerSpan>& spans, const AnswerRules& rules) {
  std::stable_sort(spans.begin(), spans.end(), [](const AnswerSpan& a, const AnswerSpan& b) {
    return comparable(a.score()) > comparable(b.score());
  });
  spans.resize(std::min(spans.size(), static_cast<size_t>(std::max(rules.n_best_size, 0))));
}

std::vector<AnswerSpan> spans_of_feature(const AnswerFeature& feature, const AnswerRules& rules) {
  std::vector<AnswerSpan> spans;
  const std::vector<size_t> ends = largest(feature.end_logits, rules.n_best_size);
  for (const size_t start : largest(feature.start_logits, rules.n_best_size)) {
    for (const size_t end : ends) {
      if (!is_answer(feature, start, end, rules)) continue;
      spans.push_back({{feature.spans[start].begin, feature.spans[end].end},
                       feature.start_logits[start],
                       feature.end_logits[end]});
    }
  }
  return spans;
}

// The least score of "no answer" over the pieces: all must agree on it.
std::optional<AnswerSpan> null_span(std::span<const FeatureAnswers> pieces) {
  std::optional<AnswerSpan> least;
  for (const FeatureAnswers& piece : pieces) {
    if (piece.none && (!least || least->score() > piece.none->score())) least = piece.none;
  }
  return least;
}

// The best of a piece's best are the best of all: no piece can give more than n_best_size of them.
std::vector<AnswerSpan> best_spans(std::span<const FeatureAnswers> pieces,
                                   const std::optional<AnswerSpan>& null, const AnswerRules& rules) {
  std::vector<AnswerSpan> spans;
  for (const FeatureAnswers& piece : pieces) spans.insert(spans.end(), piece.best.begin(), piece.best.end());
  if (null) spans.push_back(*null);
  keep_best(spans, rules);
  const auto is_null = [](const AnswerSpan& span) { return span.span.begin == 0 && span.span.end == 0; };
  if (null && std::none_of(spans.begin(), spans.end(), is_null)) spans.push_back(*null);
  return spans;
}

std::string part_of_context(const std::u32string& context, const ContextSpan& span) {
  const auto size = static_cast<int64_t>(context.size());
  const int64_t begin = std::clamp<int64_t>(span.begin, 0, size);
  const int64_t end = std::clamp<int64_t>(span.end, begin, size);
  return utf8(
      std::u32string_view(context).substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
}

void set_probabilities(std::vector<AnswerCandidate>& candidates, const std::vector<float>& scores) {
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - highest);
  for (size_t i = 0; i < scores.size(); ++i) candidates[i].probability = std::exp(scores[i] - highest) / sum;
}

void choose(AnswerPrediction& prediction, const std::optional<AnswerSpan>& null, const AnswerRules& rules) {
  const AnswerCandidate* best = &prediction.n_best.front();
  if (rules.version_2_with_negative) {
    for (const AnswerCandidate& candidate : prediction.n_best) {
      best = &candidate;
      if (!candidate.text.empty()) break;
    }
    const float null_score = null ? null->score() : 0;
    const float odds =
        null_score - static_cast<float>(best->start_logit) - static_cast<float>(best->end_logit);
    prediction.null_odds = odds;
    if (odds > rules.null_score_diff_threshold) return;  // no answer
  }
  prediction.text = best->text;
}

}  // namespace

FeatureAnswers feature_answers(const AnswerFeature& feature, const AnswerRules& rules) {
  FeatureAnswers answers;
  answers.best = spans_of_feature(feature, rules);
  keep_best(answers.best, rules);
  answers.best.shrink_to_fit();  // there were up to n_best_size squared, and these are kept for every piece
  if (!feature.start_logits.empty() && !feature.end_logits.empty())
    answers.none = AnswerSpan{{0, 0}, feature.start_logits[0], feature.end_logits[0]};
  return answers;
}

AnswerPrediction predict_answer(std::string_view context, std::span<const AnswerFeature> features,
                                const AnswerRules& rules) {
  std::vector<FeatureAnswers> pieces;
  for (const AnswerFeature& feature : features) pieces.push_back(feature_answers(feature, rules));
  return answer_of_pieces(context, pieces, rules);
}

AnswerPrediction answer_of_pieces(std::string_view context, std::span<const FeatureAnswers> pieces,
                                  const AnswerRules& rules) {
  const auto null = rules.version_2_with_negative ? null_span(pieces) : std::nullopt;
  const std::u32string text = characters(context);
  AnswerPrediction prediction;
  std::vector<float> scores;
  for (const AnswerSpan& span : best_spans(pieces, null, rules)) {
    prediction.n_best.push_back({part_of_context(text, span.span), span.start_logit, span.end_logit, 0});
    scores.push_back(span.score());
  }
  if (prediction.n_best.empty() || (prediction.n_best.size() == 1 && prediction.n_best[0].text.empty())) {
    prediction.n_best.insert(prediction.n_best.begin(), AnswerCandidate{"empty", 0, 0, 0});
    scores.insert(scores.begin(), 0);
  }
  set_probabilities(prediction.n_best, scores);
  choose(prediction, null, rules);
  return prediction;
}

}  // namespace hftrain::metrics
