#include "hftrain/metrics/seqeval.h"

#include <algorithm>

namespace hftrain::metrics {

EntityScores entity_scores(const EntityCounts& counts, double zero_division) {
  const auto ratio = [&](int64_t part, int64_t whole) {
    return whole == 0 ? zero_division : static_cast<double>(part) / static_cast<double>(whole);
  };
  EntityScores scores{ratio(counts.right, counts.predicted), ratio(counts.right, counts.actual), 0,
                      counts.actual};
  const double sum = scores.precision + scores.recall;
  if (sum != 0) scores.f1 = 2 * scores.precision * scores.recall / sum;
  return scores;
}

void SeqevalCounts::add(std::span<const std::string> predicted, std::span<const std::string> actual,
                        TagScheme scheme, bool suffix) {
  const std::vector<Entity> found = find_entities(predicted, scheme, suffix);
  std::vector<Entity> there = find_entities(actual, scheme, suffix);
  std::sort(there.begin(), there.end());
  for (const Entity& entity : found) {
    EntityCounts& counts = types[entity.type];
    ++counts.predicted;
    counts.right += std::binary_search(there.begin(), there.end(), entity);
  }
  for (const Entity& entity : there) ++types[entity.type].actual;
  for (size_t i = 0; i < actual.size(); ++i) right_tags += predicted[i] == actual[i];
  tags += static_cast<int64_t>(actual.size());
}

EntityCounts SeqevalCounts::overall() const {
  EntityCounts all;
  for (const auto& [type, counts] : types) {
    all.right += counts.right;
    all.predicted += counts.predicted;
    all.actual += counts.actual;
  }
  return all;
}

}  // namespace hftrain::metrics
