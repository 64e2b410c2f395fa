// Whether the disks that state is offloaded to have room for it.
#include <algorithm>
#include <cstring>

#include "hftrain/base/text.h"
#include "hftrain/plan/budget_parts.h"
#include "hftrain/plan/rank_memory.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/plan/text_table.h"

namespace hftrain::plan {
namespace {

// Offloaded state of a machine's ranks that lies on one disk.
struct OffloadedState {
  std::vector<std::string> folders, kinds;
  int64_t bytes = 0;
  DiskSpace disk;
};

// By file system: parameters and the optimizer may have two folders, on one disk or on two.
std::vector<OffloadedState> offloaded_by_disk(const ResolveInput& input, const RunPlan& plan) {
  const RankMemory rank = rank_memory(running_architecture(input)->parameters(), plan);
  const NvmePlan& nvme = plan.strategy.nvme;
  std::vector<OffloadedState> all;
  const auto add = [&](const std::string& folder, const char* kind, int64_t bytes_of_rank,
                       const std::optional<DiskSpace>& disk) {
    if (folder.empty() || !disk || bytes_of_rank == 0) return;  // one rank alone keeps its parameters whole
    auto found = std::find_if(all.begin(), all.end(), [&](const OffloadedState& other) {
      return other.disk.file_system == disk->file_system && other.disk.folder_error == disk->folder_error;
    });
    if (found == all.end()) found = all.insert(found, OffloadedState{{}, {}, 0, *disk});
    if (found->folders.empty() || found->folders.back() != folder) found->folders.push_back(folder);
    const int64_t bytes = bytes_of_rank * plan.ranks.ranks_on_machine;
    found->kinds.push_back(kind + (" " + bytes_text(bytes)));
    found->bytes += bytes;
  };
  add(nvme.parameters_path, "parameters", rank.parameters_on_nvme, input.parameters_disk);
  add(nvme.optimizer_path, "optimizer", rank.optimizer_on_nvme, input.optimizer_disk);
  return all;
}

}  // namespace

void check_nvme(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  if (plan.disk.nvme_bytes == 0) return;
  for (const OffloadedState& state : offloaded_by_disk(input, plan)) {
    if (state.disk.folder_error != 0) {
      problems.add(ExitCode::kDisk,
                   {Diagnostic::Severity::kError, "no offloaded state can be kept there",
                    join(state.folders, ", "), std::strerror(state.disk.folder_error), "another nvme_path"});
      continue;
    }
    if (state.bytes <= static_cast<int64_t>(state.disk.free_bytes)) continue;
    problems.add(ExitCode::kDisk, {Diagnostic::Severity::kError,
                                   "the offloaded state does not fit on the disk", join(state.folders, ", "),
                                   "it takes " + bytes_text(state.bytes) + " (" + join(state.kinds, ", ") +
                                       "), and " + format_bytes(state.disk.free_bytes) + " are free",
                                   "free space, or another nvme_path"});
  }
}

}  // namespace hftrain::plan
