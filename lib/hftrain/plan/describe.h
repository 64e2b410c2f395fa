// A plan and a machine in words and as JSON: `--dry_run`, `plan --json`, `devices`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/plan/topology.h"

namespace hftrain::plan {

// What a worker is started with, from whoever starts it: its command line and the variables that are added to
// the inherited environment.
struct WorkerCommand {
  int rank = 0;
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
};

// Several paragraphs with a final newline.
std::string describe_plan(const RunPlan& plan, const Topology& topology,
                          const std::vector<WorkerCommand>& workers);
// The keys that scripts rely on (schema, world_size, devices, strategy, batch, steps, schedule,
// memory_per_rank, disk, resume, workers), and the other parts of the plan under their names in plan.json.
Json plan_document(const RunPlan& plan, const Topology& topology, const std::vector<WorkerCommand>& workers);

// local rank, position in the mask, PCI index, UUID, name, free and total memory; cores and memory of the
// host.
std::string describe_devices(const Topology& topology);
Json devices_document(const Topology& topology);

}  // namespace hftrain::plan
