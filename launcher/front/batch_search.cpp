#include "launcher/front/batch_search.h"

#include <algorithm>
#include <filesystem>

#include "hftrain/base/file.h"
#include "launcher/front/run_record.h"

namespace hftrain::front {
namespace {

// What an earlier search of this size left stays as it is.
std::string free_folder(const plan::RunPlan& plan) {
  const std::string wanted =
      run_folder(plan.output_dir).path + "/given_up/batch-" + std::to_string(plan.batch.per_device_train);
  std::string folder = wanted;
  for (int n = 2; path_exists(folder); ++n) folder = wanted + '.' + std::to_string(n);
  return folder;
}

}  // namespace

bool trained_out_of_memory(const launcher::JobResult& result, const plan::RunPlan& plan) {
  const bool memory = result.code == ExitCode::kDeviceMemory || result.code == ExitCode::kHostMemory;
  if (!memory || result.stop_asked || !result.failure || !plan.do_train) return false;
  return std::all_of(result.workers.begin(), result.workers.end(), [&](const launcher::WorkerRecord& worker) {
    const bool full = worker.rank == result.failure->rank;
    return worker.lost.empty() && (!full || (worker.ready && worker.step < plan.steps.max_steps));
  });
}

int64_t smaller_batch(const plan::RunPlan& plan) {
  const int64_t size = plan.batch.per_device_train * 9 / 10;
  return plan.data.split_batches ? size - size % plan.ranks.world_size : size;
}

std::string set_aside(const std::vector<std::string>& checkpoints, const plan::RunPlan& plan) {
  std::string folder;
  for (const std::string& checkpoint : checkpoints) {
    if (!path_exists(checkpoint)) continue;  // retention took it
    if (folder.empty()) folder = free_folder(plan);
    create_directories(folder);
    const std::filesystem::path from(checkpoint);
    std::filesystem::rename(from, std::filesystem::path(folder) / from.filename());
  }
  return folder;
}

}  // namespace hftrain::front
