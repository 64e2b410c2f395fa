#include "generation/table_model.h"

#include <algorithm>
#include <stdexcept>

#include "hftrain/generation/draws.h"

namespace hftrain::generation {

std::span<const float> TableModel::start() {
  return score();
}

std::span<const float> TableModel::next(std::span<const int64_t> tokens, std::span<const int64_t> parents) {
  drafted_.clear();
  std::vector<Ids> rows;
  for (size_t i = 0; i < tokens.size(); ++i) {
    rows.push_back(rows_.at(static_cast<size_t>(parents[i])));
    rows.back().push_back(tokens[i]);
  }
  rows_ = std::move(rows);
  return score();
}

std::span<const float> TableModel::next_of(std::span<const int64_t> tokens, int64_t parent) {
  drafted_.clear();
  Ids text = rows_.at(static_cast<size_t>(parent));
  rows_.clear();
  for (const int64_t token : tokens) {
    text.push_back(token);
    rows_.push_back(text);
  }
  return score();
}

std::span<const float> TableModel::draft(int64_t token, int64_t parent) {
  if (drafted_.empty()) {
    rows_ = {rows_.at(static_cast<size_t>(parent))};
    drafted_ = rows_.front();
  } else if (parent != 0) {
    throw std::logic_error("a draft goes on from what was drafted");
  }
  drafted_.push_back(token);
  ++drafts_;
  scores_.clear();
  add_scores(drafted_);
  DrawKey key{.seed = 9, .text = drafts_};
  for (float& score : scores_) score += off_ * static_cast<float>(uniform(key)), ++key.number;
  return scores_;
}

std::span<const float> TableModel::score() {
  calls_.push_back(rows_.size());
  scores_.clear();
  for (const Ids& ids : rows_) add_scores(ids);
  return scores_;
}

void TableModel::add_scores(const Ids& ids) {
  longest_ = std::max(longest_, ids.size());
  const std::vector<float>& last = tables_.last.at(static_cast<size_t>(ids.back()));
  const std::vector<float>& place = tables_.place.at(ids.size() % tables_.place.size());
  for (size_t token = 0; token < last.size(); ++token) {
    float score = last[token];
    if (ids.size() >= 2) score += tables_.second.at(static_cast<size_t>(ids[ids.size() - 2]))[token];
    scores_.push_back(score + place[token]);
  }
}

Tables some_tables() {
  DrawKey key{.seed = 5};
  const auto table = [&](size_t rows) {
    std::vector<std::vector<float>> numbers(rows, std::vector<float>(24));
    for (auto& row : numbers) {
      for (float& number : row) number = static_cast<float>(4 * uniform(key)), ++key.number;
      row.back() = -50;
    }
    return numbers;
  };
  return {table(24), table(24), table(5)};
}

std::vector<Prompt> prompts_of(const std::vector<Ids>& texts) {
  std::vector<Prompt> prompts;
  for (size_t i = 0; i < texts.size(); ++i) prompts.push_back({texts[i], {}, i});
  return prompts;
}

}  // namespace hftrain::generation
