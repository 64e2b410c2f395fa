// The life of one rank: plan, device, process group, training, and the last word on the control descriptor.
#pragma once

#include <functional>
#include <memory>

#include "hftrain/base/exit_code.h"
#include "hftrain/base/status_page.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/runtime/worker_context.h"
#include "hftrain/trainer/event_channel.h"
#include "hftrain/trainer/trainer.h"
#include "options.h"

namespace hftrain::worker {

// What a rank has when all ranks have met and agree on the plan. All outlive it.
struct RankParts {
  const plan::RunPlan& plan;
  runtime::WorkerContext& context;
  comm::Communicator& communicator;
  trainer::EventChannel& events;
  // Called once, when the model is open. What has groups of its own is handed over: it lives until a failure was told, and
  // until no other rank may still need it.
  std::function<void(std::shared_ptr<void> kept)> ready;
};

// Makes a Trainer, says ready() and trains.
using RankProgram = std::function<trainer::RunOutcome(const RankParts&)>;

// That of hftrain-worker: what the plan says, with its plug-in.
trainer::RunOutcome train_as_planned(const RankParts& parts);

// Runs a trainer; a failure for want of memory says where the memory went while that can still be told.
trainer::RunOutcome with_memory_account(trainer::Trainer& trainer,
                                        const std::function<trainer::RunOutcome()>& train);

// Failures are reported as a kFailed event and then thrown. What the rank does is told on `status`.
ExitCode run_rank(const Options& options, StatusPage& status, const RankProgram& program);

}  // namespace hftrain::worker
