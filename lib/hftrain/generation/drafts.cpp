#include "hftrain/generation/drafts.h"

#include <algorithm>
#include <utility>

namespace hftrain::generation {
namespace {

constexpr size_t kShortestMatch = 2;  // tokens that are looked for, where no fewer are asked for
constexpr size_t kDoublings = 5;      // of the rest after misses: 32 steps at most

constexpr double kWorthForeseeing = 1.05;  // tokens in the time of a step
constexpr size_t kForesightRest = 16;
constexpr double kForget = 0.05;  // of what is known with each token more
constexpr double kNewTime = 0.3;  // of what is known of times, with each one more

// The mean of what was seen, the newest with the most weight.
void see(double& mean, size_t& seen, double seconds) {
  mean += (seen == 0 ? 1 : kNewTime) * (seconds - mean);
  ++seen;
}

// Tokens in the time of one that is written by itself, where `count` are foreseen and each is right with probability `right` if those before it were.
double tokens_in_time(size_t count, double right, const DraftCosts& costs) {
  double tokens = 0, all = 1;
  for (size_t i = 0; i <= count; ++i, all *= right) tokens += all;
  return tokens / (1 + static_cast<double>(count) * (costs.draft + costs.row) + (tokens - 1) * costs.choice);
}

// Behind the last place but the end where the last `size` tokens stand; 0: there is none.
size_t behind_last(std::span<const int64_t> ids, size_t size) {
  if (ids.size() <= size) return 0;
  const auto looked_for = ids.last(size);
  for (size_t end = ids.size() - 1; end >= size; --end) {
    if (ids[end - 1] == looked_for.back() && std::ranges::equal(ids.subspan(end - size, size), looked_for))
      return end;
  }
  return 0;
}

}  // namespace

Ids looked_up(std::span<const int64_t> ids, size_t most, size_t longest) {
  const size_t shortest = std::min(longest, kShortestMatch);
  size_t place = 0;
  for (size_t size = std::min(longest, ids.size()); size >= shortest && place == 0; --size)
    place = behind_last(ids, size);
  Ids draft;
  if (place == 0) return draft;
  for (; draft.size() < most; ++place)
    draft.push_back(place < ids.size() ? ids[place] : draft[place - ids.size()]);
  return draft;
}

Ids Drafts::next(std::span<const int64_t> ids, size_t room) {
  if (rest_ > 0) return --rest_, Ids();
  const size_t most = std::min(size_, room);
  return most == 0 ? Ids() : looked_up(ids, most, longest_);
}

void Drafts::learn(size_t offered, size_t taken) {
  if (taken == 0) {
    misses_ = std::min(misses_ + 1, kDoublings);
    rest_ = size_t{1} << misses_;
    size_ = std::max<size_t>(1, size_ / 2);
    return;
  }
  misses_ = 0;
  size_ = std::min(most_, taken == offered ? 2 * std::max(size_, offered) : taken + 1);
}

void SeenCosts::step(size_t rows, double seconds) {
  if (rows == 1) return see(step_, steps_, seconds);
  if (steps_ > 0) see(row_, rows_, std::max(0.0, seconds - step_) / static_cast<double>(rows - 1));
}

void SeenCosts::draft(double seconds, double choice) {
  if (std::exchange(first_, false)) return;
  see(draft_, drafts_, seconds);
  see(choice_, choices_, choice);
}

DraftCosts SeenCosts::costs() const {
  DraftCosts costs;
  const double token = step_ + choice_;
  if (steps_ == 0 || token <= 0) return costs;
  if (drafts_ > 0) costs.draft = (draft_ + choice_) / token, costs.choice = choice_ / token;
  if (rows_ > 0) costs.row = row_ / token;
  return costs;
}

size_t Foresight::next(size_t room, const DraftCosts& costs) {
  if (rest_ > 0) return --rest_, 0;
  size_t best = 0;
  double most = kWorthForeseeing;
  for (size_t count = 1; count <= std::min(most_, room); ++count) {
    const double tokens = tokens_in_time(count, right_, costs);
    if (tokens > most) best = count, most = tokens;
  }
  if (best > 0 || room == 0) return best;
  rest_ = kForesightRest;
  return most_ == 0 ? 0 : 1;  // one, to see whether it is right again
}

void Foresight::learn(size_t offered, size_t taken) {
  for (size_t i = 0; i < taken; ++i) right_ += kForget * (1 - right_);
  if (taken < offered) right_ -= kForget * right_;
}

}  // namespace hftrain::generation
