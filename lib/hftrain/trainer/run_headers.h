// What a run says of itself before it trains, in the Trainer's lines.
#pragma once

#include <string>

#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// "***** Running training *****" and its lines.
std::string header_of_training(const plan::RunPlan& plan);

// Where a resumed run goes on; `round`: samples of one batch of every rank.
std::string header_of_resume(const plan::RunPlan& plan, const State& state, int64_t round);

// Where a rank computes, and in what: "Process rank: 0, device: cpu, …".
std::string line_of_rank(const plan::RunPlan& plan, int rank);

}  // namespace hftrain::trainer
