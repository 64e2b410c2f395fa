#include "hftrain/metrics/class_counts.h"

#include <cmath>
#include <limits>

#include "hftrain/base/error.h"

namespace hftrain::metrics {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

struct Tally {
  double hits = 0;       // predicted and true
  double predicted = 0;  // in all
  double actual = 0;
};

std::map<int64_t, Tally> tallies(const std::map<std::pair<int64_t, int64_t>, int64_t>& counts) {
  std::map<int64_t, Tally> classes;
  for (const auto& [pair, count] : counts) {
    const auto [reference, prediction] = pair;
    classes[reference].actual += static_cast<double>(count);
    classes[prediction].predicted += static_cast<double>(count);
    if (reference == prediction) classes[reference].hits += static_cast<double>(count);
  }
  return classes;
}

ClassScores scores_of(const Tally& tally, double zero_division) {
  const auto ratio = [&](double part, double whole) { return whole == 0 ? zero_division : part / whole; };
  return {ratio(tally.hits, tally.predicted), ratio(tally.hits, tally.actual),
          ratio(2 * tally.hits, tally.predicted + tally.actual)};
}

// The mean of the values that are numbers; when all weights are 0, the plain one.
double mean_of(const std::vector<double>& values, const std::vector<double>& weights) {
  double sum = 0, weight = 0, plain = 0;
  int numbers = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    sum += values[i] * weights[i];
    weight += weights[i];
    plain += values[i];
    ++numbers;
  }
  if (numbers == 0) return kNothing;
  return weight == 0 ? plain / numbers : sum / weight;
}

ClassScores mean_scores(const std::map<int64_t, Tally>& classes, const ScoreRules& rules) {
  std::vector<double> precisions, recalls, f1s, weights;
  for (const auto& [label, tally] : classes) {
    const ClassScores scores = scores_of(tally, rules.zero_division);
    precisions.push_back(scores.precision);
    recalls.push_back(scores.recall);
    f1s.push_back(scores.f1);
    weights.push_back(rules.average == Average::kWeighted ? tally.actual : 1);
  }
  return {mean_of(precisions, weights), mean_of(recalls, weights), mean_of(f1s, weights)};
}

ClassScores positive_scores(const std::map<int64_t, Tally>& classes, const ScoreRules& rules) {
  const auto positive = classes.find(rules.positive);
  if (classes.size() > 2 || (classes.size() == 2 && positive == classes.end())) {
    throw Error(ExitCode::kData, "precision, recall or F1 of a positive class, but these are not two classes")
        .where("metrics")
        .why("there are " + std::to_string(classes.size()) + " classes and the positive one is " +
             std::to_string(rules.positive))
        .hint("use labels 0 and 1, or an average over classes: micro, macro, weighted");
  }
  return scores_of(positive == classes.end() ? Tally() : positive->second, rules.zero_division);
}

}  // namespace

void ClassCounts::add(std::span<const int64_t> predictions, std::span<const int64_t> references) {
  for (size_t i = 0; i < references.size(); ++i) {
    if (references[i] != kIgnored) add(predictions[i], references[i], 1);
  }
}

std::vector<int64_t> ClassCounts::classes() const {
  std::vector<int64_t> labels;
  for (const auto& [label, tally] : tallies(counts_)) labels.push_back(label);
  return labels;
}

double ClassCounts::matthews_correlation() const {
  double right = 0, all = 0, both = 0, predicted = 0, actual = 0;
  for (const auto& [label, tally] : tallies(counts_)) {
    right += tally.hits;
    all += tally.actual;
    both += tally.actual * tally.predicted;
    predicted += tally.predicted * tally.predicted;
    actual += tally.actual * tally.actual;
  }
  if (all == 0) return kNothing;
  const double spread = (all * all - predicted) * (all * all - actual);
  return spread == 0 ? 0 : (right * all - both) / std::sqrt(spread);
}

ClassScores ClassCounts::scores(const ScoreRules& rules) const {
  const auto classes = tallies(counts_);
  if (classes.empty()) return {kNothing, kNothing, kNothing};
  if (rules.average == Average::kBinary) return positive_scores(classes, rules);
  if (rules.average != Average::kMicro) return mean_scores(classes, rules);
  Tally together;
  for (const auto& [label, tally] : classes) {
    together.hits += tally.hits;
    together.predicted += tally.predicted;
    together.actual += tally.actual;
  }
  return scores_of(together, rules.zero_division);
}

std::vector<ClassScores> ClassCounts::scores_by_class(double zero_division) const {
  std::vector<ClassScores> scores;
  for (const auto& [label, tally] : tallies(counts_)) scores.push_back(scores_of(tally, zero_division));
  return scores;
}

void RightAndAll::add(std::span<const int64_t> predictions, std::span<const int64_t> references) {
  for (size_t i = 0; i < references.size(); ++i) {
    if (references[i] == kIgnored) continue;
    right += predictions[i] == references[i];
    ++all;
  }
}

}  // namespace hftrain::metrics
