// Trainer: what comes now and then, tried before the first update.
#include <cstdio>
#include <functional>

#include "hftrain/base/error.h"
#include "hftrain/checkpoint/collective_status.h"
#include "hftrain/plan/rehearsed.h"
#include "hftrain/runtime/random_state.h"
#include "hftrain/runtime/translate.h"
#include "hftrain/trainer/trainer.h"

namespace hftrain::trainer {
namespace {

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", seconds);
  return text;
}

bool is_about_room(ExitCode code) {
  return code == ExitCode::kDeviceMemory || code == ExitCode::kHostMemory || code == ExitCode::kDisk;
}

// The failure says that it is the rehearsal's, so that nobody looks for lost work.
void try_out(const std::string& what, const std::string& hint, const std::function<void()>& work) {
  try {
    work();
  } catch (const checkpoint::PeerFailure&) {
    throw;  // the other rank tells
  } catch (...) {
    const Error error = runtime::translate(std::current_exception());
    if (!is_about_room(error.code())) throw;
    const Diagnostic& first = error.diagnostics().front();
    throw Error(error.code(), "the rehearsal of " + what + " failed: " + first.what)
        .where(first.where)
        .why((first.why.empty() ? "" : first.why + "; ") +
             "it was tried before the first update, nothing was trained yet")
        .hint(error.code() == ExitCode::kDisk && !first.hint.empty() ? first.hint : hint);
  }
}

}  // namespace

void Trainer::rehearse() {
  const plan::Rehearsed parts = plan::rehearsed(plan_);
  const double begin = monotonic_seconds();
  const PhaseClock::Span span = clock_.span("rehearse");
  const runtime::RandomState random =
      runtime::capture_random_state(*context_.device_runtime, context_.device);
  const State state = state_;
  if (parts.evaluation) rehearse_evaluation();
  if (parts.save) rehearse_save();
  if (parts.model) rehearse_model();
  state_ = state;
  runtime::restore_random_state(random, *context_.device_runtime, context_.device);
  if (!speaks()) return;
  events_.message(LogLevel::kInfo, "Rehearsed " + plan::describe(parts) + " in " +
                                       seconds_text(monotonic_seconds() - begin) +
                                       " s; nothing of it is kept");
}

void Trainer::rehearse_evaluation() {
  events_.set_phase(WorkPhase::kEvaluating);
  try_out("an evaluation", "a smaller --per_device_eval_batch_size; --rehearse false goes without",
          [&] { evaluator_->rehearse(evaluation_request({data::Split::kValidation}, /*writes=*/false)); });
}

void Trainer::rehearse_save() {
  events_.set_phase(WorkPhase::kSaving);
  try_out("a save", "free memory or room on the disk; --rehearse false goes without",
          [&] { checkpointer_->rehearse(checkpoint_contents()); });
}

// Written at the end of every run, whatever is saved before: at hour 40 it would be lost with all that was trained.
void Trainer::rehearse_model() {
  events_.set_phase(WorkPhase::kSaving);
  try_out("the last model", "free memory or room on the disk; --rehearse false goes without",
          [&] { exporter_->rehearse(plan_.output_dir); });
}

}  // namespace hftrain::trainer
