// The ranks of one agent, spawned here: what each worker is started with.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "hftrain/plan/run_plan.h"
#include "launcher/supervision/worker_group.h"

namespace hftrain::launcher {

// "cpu", "cuda:1 (name)"
std::string device_of(const plan::RankPlan& rank);

struct LocalLaunch {
  std::string worker_program;  // absolute path of hftrain-worker
  std::string plan_path;       // absolute path of the written plan
  Environment environment;     // inherited; the variables of plan/worker_protocol.h are added
  std::string master_address;
  int master_port = 0;
  int attempt = 0;
  int agent = 0;                  // whose ranks are started
  bool full_determinism = false;  // of the plan: libraries are told so, where nothing else is said
};

// One spec per rank of the agent, in rank order. Rank 0 serves the store when there is more than one rank.
std::vector<WorkerSpec> local_workers(const plan::RanksPlan& ranks, const LocalLaunch& launch);

}  // namespace hftrain::launcher
