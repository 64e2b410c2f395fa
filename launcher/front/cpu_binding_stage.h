// --bind_core_list, --numa_binding, --enable_cpu_affinity and --bind_cores_to_rank: which CPUs the run and
// each of its ranks may use.
#pragma once

#include <string>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/plan/topology.h"
#include "launcher/supervision/worker_group.h"

namespace hftrain::front {

// Confines this process, and what it starts from now on, to the CPUs of --bind_core_list. Throws an Error
// (kUsage) when it may not use one of them.
void confine_to_cores(const arguments::ParseOutcome& parsed);

// Sets the CPUs of the workers, all of one agent, as the flags ask; returns a line for people, empty when
// nothing was asked. Throws an Error (kUsage) when that cannot be done.
std::string bind_workers(const arguments::ParseOutcome& parsed, const plan::Topology& topology,
                         const plan::RanksPlan& ranks, std::vector<launcher::WorkerSpec>& workers);

}  // namespace hftrain::front
