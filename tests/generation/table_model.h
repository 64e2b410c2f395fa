// A language model that is a table, as scripts/golden/generation.py has it: the scores of the next token are those of the
// last token, of the one before and of how many there are.
#pragma once

#include <vector>

#include "hftrain/generation/generate.h"

namespace hftrain::generation {

struct Tables {
  std::vector<std::vector<float>> last, second, place;
};

class TableModel : public TokenModel {
 public:
  TableModel(const Tables& tables, std::vector<Ids> prompts) : tables_(tables), rows_(std::move(prompts)) {}
  int64_t vocabulary() const override { return static_cast<int64_t>(tables_.last.size()); }
  std::span<const float> start() override;
  std::span<const float> next(std::span<const int64_t> tokens, std::span<const int64_t> parents) override;
  // From now on drafts are taken.
  void read_ahead(size_t ahead) { ahead_ = ahead; }
  size_t ahead() const override { return ahead_; }
  std::span<const float> next_of(std::span<const int64_t> tokens, int64_t parent) override;
  // From now on draft() is worth a call, whose scores are off by up to `off`, by numbers that look random.
  void foresee(float off, Foresees worth = Foresees::kAlways) { off_ = off, worth_ = worth; }
  Foresees foresees(size_t, size_t) const override { return worth_; }
  std::span<const float> draft(int64_t token, int64_t parent) override;
  size_t drafts() const { return drafts_; }
  // How many rows, or tokens of a draft and the one before it, each call had.
  const std::vector<size_t>& calls() const { return calls_; }
  // Tokens of the longest text that it has read.
  size_t longest() const { return longest_; }

 private:
  std::span<const float> score();
  void add_scores(const Ids& ids);

  const Tables& tables_;
  std::vector<Ids> rows_;
  std::vector<float> scores_;
  std::vector<size_t> calls_;
  float off_ = 0;
  Foresees worth_ = Foresees::kNever;
  Ids drafted_;  // with the text before it; empty: nothing is drafted
  size_t drafts_ = 0;
  size_t longest_ = 0;
  size_t ahead_ = 1;
};

// Numbers that look random, of 24 tokens; token 23 hardly ever comes.
Tables some_tables();

std::vector<Prompt> prompts_of(const std::vector<Ids>& texts);

}  // namespace hftrain::generation
