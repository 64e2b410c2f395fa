#include "hftrain/plan/disk_check.h"

#include "hftrain/plan/text_table.h"

namespace hftrain::plan {

void check_disk(const RunPlan& plan, Problems& problems) {
  const bool saves = plan.saving.interval.strategy != "no";
  const int64_t least = saves ? plan.disk.checkpoint_bytes : plan.disk.needed_bytes;
  if (!plan.do_train || plan.disk.free_bytes < 0 || least <= plan.disk.free_bytes) return;
  problems.add(
      ExitCode::kDisk,
      {Diagnostic::Severity::kError,
       saves ? "not one checkpoint fits on the disk" : "the model does not fit on the disk", plan.output_dir,
       "it takes " + bytes_text(least) + ", and " + bytes_text(plan.disk.free_bytes) + " are free",
       "free space, or another --output_dir"});
}

std::optional<Diagnostic> disk_too_small_for_all(const RunPlan& plan) {
  if (plan.disk.free_bytes < 0 || plan.disk.needed_bytes <= plan.disk.free_bytes) return std::nullopt;
  return Diagnostic{Diagnostic::Severity::kWarning,
                    "the checkpoints need " + bytes_text(plan.disk.needed_bytes) + " and " +
                        bytes_text(plan.disk.free_bytes) + " are free",
                    "", "", "--save_total_limit N, or --save_only_model"};
}

}  // namespace hftrain::plan
