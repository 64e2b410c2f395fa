#include "hftrain/trainer/step_sync.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <iterator>

#include "hftrain/base/clock.h"

namespace hftrain::trainer {
namespace {

constexpr double kSecondsBetweenExchanges = 0.5;
constexpr int64_t kMostRounds = 1000;
constexpr int64_t kMostGrowth = 4;  // of the rounds between exchanges, from one to the next

StopSignal joint_signal(int64_t terminated, int64_t interrupted) {
  if (terminated > 0) return StopSignal::kTerminate;
  return interrupted > 0 ? StopSignal::kInterrupt : StopSignal::kNone;
}

}  // namespace

StepSync sync_step(comm::Communicator& communicator, const StepSync& local) {
  if (communicator.world_size() == 1) return local;
  const at::Tensor facts = at::empty({7}, at::kLong);
  int64_t* values = facts.data_ptr<int64_t>();
  values[0] = local.label_tokens;
  values[1] = local.input_tokens;
  values[2] = local.stop == StopSignal::kTerminate ? 1 : 0;
  values[3] = local.stop == StopSignal::kInterrupt ? 1 : 0;
  values[4] = local.saves_at_rest;
  values[5] = local.main_inputs;
  values[6] = local.samples;
  communicator.host().all_reduce(facts, comm::Reduction::kSum);
  return {.label_tokens = values[0],
          .input_tokens = values[1],
          .main_inputs = values[5],
          .samples = values[6],
          .saves_at_rest = values[4],
          .stop = joint_signal(values[2], values[3])};
}

Control sync_control(comm::Communicator& communicator, const Control& local) {
  constexpr bool Control::*kFlags[] = {&Control::should_training_stop, &Control::should_epoch_stop,
                                       &Control::should_save, &Control::should_evaluate,
                                       &Control::should_log};
  const at::Tensor votes = at::empty({std::size(kFlags)}, at::kLong);
  int64_t* values = votes.data_ptr<int64_t>();
  for (size_t i = 0; i < std::size(kFlags); ++i) values[i] = local.*kFlags[i] ? 1 : 0;
  communicator.host().all_reduce(votes, comm::Reduction::kSum);
  Control all;
  for (size_t i = 0; i < std::size(kFlags); ++i) all.*kFlags[i] = values[i] > 0;
  return all;
}

StopPoll::StopPoll(comm::Communicator& communicator)
    : communicator_(communicator), asked_(monotonic_seconds()) {}

StopSignal StopPoll::look() {
  const StopSignal local = StopRequest::seen();
  if (communicator_.world_size() == 1) return local;
  if (--until_next_ > 0) return StopSignal::kNone;
  const double now = monotonic_seconds();
  const at::Tensor facts = at::empty({3}, at::kLong);
  int64_t* values = facts.data_ptr<int64_t>();
  values[0] = local == StopSignal::kTerminate ? 1 : 0;
  values[1] = local == StopSignal::kInterrupt ? 1 : 0;
  values[2] = static_cast<int64_t>((now - asked_) * 1e6);
  communicator_.host().all_reduce(facts, comm::Reduction::kSum);
  // From sums, so that all ranks come to the same number.
  const double round_seconds =
      1e-6 * static_cast<double>(values[2]) / static_cast<double>(rounds_ * communicator_.world_size());
  const auto wanted = static_cast<int64_t>(kSecondsBetweenExchanges / std::max(round_seconds, 1e-6));
  // The first rounds tell little of those to come.
  rounds_ = std::clamp(wanted, int64_t{1}, std::min(rounds_ * kMostGrowth, kMostRounds));
  until_next_ = rounds_;
  asked_ = monotonic_seconds();
  return joint_signal(values[0], values[1]);
}

}  // namespace hftrain::trainer
