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

void SeqevalCounts::add(int64_t place, std::span<const std::string> predicted,
                        std::span<const std::string> actual, TagScheme scheme, bool suffix) {
  if (scheme == TagScheme::kLenient) {
    add_row(place, entities_of_row(predicted, place == 0, suffix),
            entities_of_row(actual, place == 0, suffix));
  } else {
    count(find_entities(predicted, scheme, suffix), find_entities(actual, scheme, suffix));
  }
  for (size_t i = 0; i < actual.size(); ++i) right_tags += predicted[i] == actual[i];
  tags += static_cast<int64_t>(actual.size());
}

// Both in order of their ends, each of which one entity has.
void SeqevalCounts::count(std::span<const Entity> found, std::span<const Entity> there) {
  std::vector<Entity> sorted(there.begin(), there.end());
  std::sort(sorted.begin(), sorted.end());
  for (const Entity& entity : found) {
    EntityCounts& counts = types[entity.type];
    ++counts.predicted;
    counts.right += std::binary_search(sorted.begin(), sorted.end(), entity);
  }
  for (const Entity& entity : sorted) ++types[entity.type].actual;
}

void SeqevalCounts::add_row(int64_t place, const RowEntities& found, const RowEntities& there) {
  count(found.entities, there.entities);
  const auto begin = [](const RowEntities& row) {
    return row.last_begin ? static_cast<int64_t>(*row.last_begin) : -1;
  };
  OpenRow row{place, begin(found), begin(there), {}};
  for (const Entity& entity : found.open) {
    ++types[entity.type].predicted;
    if (std::find(there.open.begin(), there.open.end(), entity) != there.open.end())
      row.types.push_back(entity.type);
  }
  for (const Entity& entity : there.open) ++types[entity.type].actual;
  open.push_back(std::move(row));
}

void SeqevalCounts::close() {
  std::sort(open.begin(), open.end(),
            [](const OpenRow& one, const OpenRow& other) { return one.place < other.place; });
  bool same = true;  // whether what is predicted and what is there began last at one place
  for (const OpenRow& row : open) {
    if (same) {
      for (const std::string& type : row.types) ++types[type].right;
    }
    const bool begun = row.predicted_begin >= 0 || row.actual_begin >= 0;
    if (begun) same = row.predicted_begin == row.actual_begin;
  }
  open.clear();
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
