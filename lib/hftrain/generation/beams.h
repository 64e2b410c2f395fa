// The beams of one prompt. Sums and comparisons are made in float32 and in the order in which transformers makes them,
// with its large negative number for what must not win: the same texts come out, also where scores are close.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hftrain/generation/generation_config.h"

namespace hftrain::generation {

struct Candidate {
  int64_t beam = 0;  // of the running ones
  int64_t token = 0;
  float score = 0;    // Σ log-probabilities
  bool ends = false;  // complete with this token
};

struct Beam {
  int64_t row = 0;  // in the model's last call
  Ids ids;          // with the prompt
  float score = 0;
};

class Beams {
 public:
  // At the beginning only the first beam is alive, so that the beams are not the same text.
  Beams(const Ids& prompt, int64_t row, const GenerationConfig& config);

  std::vector<Beam>& running() { return running_; }
  const std::vector<Beam>& running() const { return running_; }
  // max(2, 1 + end tokens) a beam: enough go on even if every beam could end in all ways.
  size_t candidates() const { return candidates_; }
  // Takes the best `candidates()` of all beams, best first: running and finished texts of the next step.
  void take(std::span<const Candidate> candidates);
  // Nothing better can come, by the config's early_stopping, or nothing can go on.
  bool done() const { return done_; }
  // The finished texts, best first; with the prompt.
  const std::vector<Beam>& finished() const { return finished_; }

 private:
  void keep_finished(std::span<const Candidate> candidates, bool improvable, bool full);
  bool may_improve() const;
  Ids extended(const Candidate& candidate) const;

  const GenerationConfig& config_;
  size_t prompt_, candidates_;
  std::vector<Beam> running_, finished_;
  std::vector<bool> is_finished_;
  bool improvable_ = true, done_ = false;
};

}  // namespace hftrain::generation
