#include <algorithm>

#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

std::string mask_text(const Topology& topology) {
  return topology.mask ? "CUDA_VISIBLE_DEVICES=" + *topology.mask : "CUDA_VISIBLE_DEVICES is not set";
}

// An empty mask or a first entry below 0 hides all GPUs on purpose.
bool hides_gpus(const Topology& topology) {
  return topology.mask &&
         (topology.mask->find_first_not_of(" \t") == std::string::npos || topology.mask->front() == '-');
}

// Whether the ranks run on GPUs. A GPU that is there but cannot be used is an error, never a silent CPU run.
bool choose_gpus(const ResolveInput& input, Problems& problems) {
  const Topology& topology = input.topology;
  if (input.parsed.arguments.device.use_cpu || hides_gpus(topology)) return false;
  if (!topology.visible.devices.empty()) return true;
  if (!topology.gpu_problem.empty()) {
    problems.environment("the GPUs of this machine cannot be used", "", topology.gpu_problem,
                         "repair the driver, or --use_cpu");
  } else if (topology.mask && !topology.devices.empty()) {
    const std::vector<std::string>& notes = topology.visible.notes;
    problems.environment("CUDA_VISIBLE_DEVICES leaves no GPU", mask_text(topology),
                         notes.empty()
                             ? "this machine has " + std::to_string(topology.devices.size()) + " GPUs"
                             : notes.front(),
                         "`hftrain devices` shows them; --use_cpu trains without");
  } else if (!topology.devices.empty()) {
    problems.environment("no GPU of this machine can compute", "", topology.visible.notes.front(),
                         "create a MIG instance, or --use_cpu");
  }
  return false;
}

// Local ranks that --nproc_per_node asks for; 0 when it was refused.
int asked_ranks(const ResolveInput& input, bool gpus, Problems& problems) {
  const int visible = static_cast<int>(input.topology.visible.devices.size());
  const std::optional<std::string>& asked = input.parsed.arguments.launch.nproc_per_node;
  const std::string where = input.parsed.origins.describe("nproc_per_node");
  if (!asked) return gpus ? visible : 1;
  if (*asked == "auto") return gpus ? visible : input.topology.host.usable_cores();
  if (*asked == "cpu") return input.topology.host.usable_cores();
  if (*asked == "gpu") {
    if (gpus) return visible;
    problems.environment("nproc_per_node gpu needs a GPU", where,
                         input.parsed.arguments.device.use_cpu ? "--use_cpu was given" : "none is visible");
    return 0;
  }
  return std::stoi(*asked);  // checked by the arguments module
}

std::string choose_backend(const ResolveInput& input, const RanksPlan& ranks, Problems& problems) {
  if (ranks.world_size == 1) return "none";
  const bool gpus = on_gpu(ranks);
  std::vector<std::string> fitting{gpus ? "nccl" : "gloo"};
  if (!gpus && ranks.nodes == 1) fitting.insert(fitting.begin(), "shm");
  const std::string backend = input.parsed.arguments.parallel.ddp_backend.value_or(fitting[0]);
  if (std::find(fitting.begin(), fitting.end(), backend) != fitting.end()) return backend;
  const std::string cpu_reason =
      backend == "shm" ? "it joins ranks of one machine only" : "it moves tensors of GPUs only";
  const std::string cpu_place = ranks.nodes == 1 ? "the CPU" : "several machines";
  problems.usage("ddp_backend " + backend + " does not work with ranks on " + (gpus ? "GPUs" : cpu_place),
                 input.parsed.origins.describe("ddp_backend"),
                 gpus ? "it moves tensors of the CPU only" : cpu_reason,
                 "--ddp_backend " + fitting[0] + ", or leave it out");
  return fitting[0];
}

RankPlan make_rank(const ResolveInput& input, int rank, int local_world_size, bool gpus) {
  const HostResources& host = input.topology.host;
  RankPlan plan;
  plan.rank = plan.local_rank = rank;
  plan.threads = host.requested_threads.value_or(std::max(1, host.usable_cores() / local_world_size));
  plan.device_name = "cpu";
  if (!gpus) return plan;
  const CudaDevice& device = input.topology.visible.devices[static_cast<size_t>(rank)].device;
  plan.device = DeviceKind::kCuda;
  plan.ordinal = rank;
  plan.device_name = device.name;
  plan.device_uuid = device.uuid;
  return plan;
}

}  // namespace

RanksPlan resolve_ranks(const ResolveInput& input, Problems& problems) {
  RanksPlan plan;
  const bool gpus = choose_gpus(input, problems);
  const int count = asked_ranks(input, gpus, problems);
  const int visible = static_cast<int>(input.topology.visible.devices.size());
  if (gpus && count > visible) {
    problems.usage("there are more ranks than GPUs: " + std::to_string(count) + " ranks, " +
                       std::to_string(visible) + " visible GPUs",
                   input.parsed.origins.describe("nproc_per_node"), mask_text(input.topology),
                   "--nproc_per_node " + std::to_string(visible) + ", or --use_cpu");
    return plan;
  }
  plan.world_size = plan.local_world_size = std::max(1, count);
  plan.timeout_seconds = input.parsed.arguments.parallel.ddp_timeout;
  for (int rank = 0; rank < plan.local_world_size; ++rank) {
    plan.ranks.push_back(make_rank(input, rank, plan.local_world_size, gpus));
  }
  plan.backend = choose_backend(input, plan, problems);
  return plan;
}

}  // namespace hftrain::plan
