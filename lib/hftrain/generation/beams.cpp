#include "hftrain/generation/beams.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "hftrain/generation/probabilities.h"

namespace hftrain::generation {
namespace {

constexpr float kLosing = -1e9F;

}  // namespace

Beams::Beams(const Ids& prompt, int64_t row, const GenerationConfig& config)
    : config_(config),
      prompt_(prompt.size()),
      running_(static_cast<size_t>(config.num_beams), Beam{row, prompt, kLosing}),
      finished_(static_cast<size_t>(config.num_beams), Beam{row, prompt, kLosing}),
      is_finished_(finished_.size(), false) {
  candidates_ = std::max<size_t>(2, 1 + config.eos_token_id.size()) * running_.size();
  running_.front().score = 0;
}

Ids Beams::extended(const Candidate& candidate) const {
  Ids ids = running_[static_cast<size_t>(candidate.beam)].ids;
  ids.push_back(candidate.token);
  return ids;
}

void Beams::keep_finished(std::span<const Candidate> candidates, bool improvable, bool full) {
  const size_t count = finished_.size();
  const auto length = static_cast<double>(running_.front().ids.size() + 1 - prompt_);
  const auto divisor = static_cast<float>(std::pow(length, config_.length_penalty));
  std::vector<float> scores;
  for (const Beam& beam : finished_) scores.push_back(beam.score);
  for (size_t i = 0; i < candidates.size(); ++i) {
    float score = candidates[i].score / divisor;
    score += full ? kLosing : 0;
    score += improvable ? 0 : kLosing;
    score += candidates[i].ends && i < count ? 0 : kLosing;
    scores.push_back(score);
  }
  std::vector<Beam> kept;
  std::vector<bool> is_finished;
  for (const int64_t place : largest(scores, count)) {
    const auto index = static_cast<size_t>(place);
    if (index < count) {
      kept.push_back(finished_[index]);
      is_finished.push_back(is_finished_[index]);
    } else {
      const Candidate& candidate = candidates[index - count];
      kept.push_back({0, extended(candidate), scores[index]});
      is_finished.push_back(candidate.ends && index - count < count);
    }
  }
  finished_ = std::move(kept);
  is_finished_ = std::move(is_finished);
}

bool Beams::may_improve() const {
  const double length = config_.early_stopping == EarlyStopping::kNever && config_.length_penalty > 0
                            ? static_cast<double>(config_.most_new_tokens(static_cast<int64_t>(prompt_)))
                            : static_cast<double>(running_.front().ids.size() - prompt_);
  const float best = running_.front().score / static_cast<float>(std::pow(length, config_.length_penalty));
  float worst = std::numeric_limits<float>::max();
  for (const Beam& beam : finished_) worst = std::min(worst, beam.score);
  return std::ranges::any_of(is_finished_,
                             [&](bool finished) { return best > (finished ? worst : kLosing); });
}

void Beams::take(std::span<const Candidate> candidates) {
  const bool stops_when_full = config_.early_stopping == EarlyStopping::kWhenFull;
  const auto full = [&] { return stops_when_full && std::ranges::all_of(is_finished_, std::identity()); };
  std::vector<float> scores;
  for (const Candidate& candidate : candidates)
    scores.push_back(candidate.score + (candidate.ends ? kLosing : 0));
  std::vector<Beam> next;
  for (const int64_t place : largest(scores, running_.size())) {
    const Candidate& candidate = candidates[static_cast<size_t>(place)];
    const int64_t row = running_[static_cast<size_t>(candidate.beam)].row;
    next.push_back({row, extended(candidate), scores[static_cast<size_t>(place)]});
  }
  keep_finished(candidates, improvable_, full());
  running_ = std::move(next);
  improvable_ = improvable_ && may_improve();
  const bool all_end = std::ranges::all_of(candidates, &Candidate::ends);
  done_ = !improvable_ || full() || all_end;
}

}  // namespace hftrain::generation
