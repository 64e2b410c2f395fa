// Trainer: how updates went, of which a rank may hear late, and the end of a run that diverges.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/trainer/trainer.h"

namespace hftrain::trainer {
namespace {

constexpr int kNonFiniteLimit = 5;  // updates in a row

// What to do about a run that diverges.
std::string way_out(bool has_saved, bool clips) {
  const std::string clipping = clips ? "a smaller --max_grad_norm" : "--max_grad_norm 1 (0 clips nothing)";
  if (!has_saved)
    return "nothing was saved before this: start again with a lower --learning_rate, more --warmup_steps "
           "or " +
           clipping;
  return "the newest checkpoint is from before this: go on from it with " + clipping +
         ", or start a new run from its weights (--model_name_or_path) with a lower --learning_rate or more "
         "--warmup_steps; a run that goes on keeps its learning rate";
}

}  // namespace

void Trainer::take_note(const UpdateResult& result) {
  state_.grad_norm = result.grad_norm;
  state_.learning_rate = result.learning_rate;
  const Untold update = std::move(untold_.front());
  untold_.pop_front();
  guard_against_divergence(result, update);
}

void Trainer::settle_update() {
  if (const std::optional<UpdateResult> last = update_->settle()) take_note(*last);
}

// The ranks' samples of an update that all of them skip, for whoever looks for the culprit in the data.
std::string Trainer::samples_text(const std::vector<int64_t>& samples) {
  constexpr size_t kShown = 32;  // of a rank
  std::string local;
  for (size_t i = 0; i < std::min(samples.size(), kShown); ++i)
    local += (local.empty() ? "" : ", ") + std::to_string(samples[i]);
  if (samples.size() > kShown) local += " and " + std::to_string(samples.size() - kShown) + " more";
  const std::vector<std::string> all = communicator_.all_gather_text(local);
  if (all.size() == 1) return local;
  std::string text;
  for (size_t rank = 0; rank < all.size(); ++rank)
    text += (rank == 0 ? "rank " : "; rank ") + std::to_string(rank) + ": " + all[rank];
  return text;
}

void Trainer::guard_against_divergence(const UpdateResult& result, const Untold& update) {
  if (!result.skipped) {
    non_finite_in_a_row_ = 0;
    return;
  }
  ++state_.skipped_updates;
  ++non_finite_in_a_row_;
  // The scaler of float16 finds its scale by overflowing; that is no sign of trouble.
  if (plan_.precision.gradient_scaler) return;
  const std::string samples = samples_text(update.samples);
  if (speaks()) {
    events_.message(LogLevel::kWarning, "update " + std::to_string(update.step) +
                                            " was skipped: the gradient norm is not finite; samples of " +
                                            "epoch " + std::to_string(update.epoch) + ": " + samples);
  }
  if (non_finite_in_a_row_ < kNonFiniteLimit) return;
  finish_save();  // it is from before this, or from an update that changed nothing
  throw Error(ExitCode::kDiverged, "training diverged: " + std::to_string(kNonFiniteLimit) +
                                       " updates in a row had gradients that are not finite")
      .where("step " + std::to_string(update.step))
      .why("a loss or a gradient is NaN or infinite")
      .hint(way_out(last_saved_step_ > 0, plan_.optimizer.max_grad_norm > 0));
}

}  // namespace hftrain::trainer
