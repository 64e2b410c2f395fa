// Third stage: the output folder. Whether the run starts afresh, goes on from a checkpoint, or is refused
// because the folder holds another run. Rules: docs/training.md, Resuming.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/plan/run_plan.h"
#include "hftrain/storage/output_place.h"
#include "hftrain/storage/run_directory.h"
#include "launcher/front/inputs.h"

namespace hftrain::front {

struct ResumeDecision {
  std::string from;                  // a verified checkpoint folder; empty: start fresh
  std::vector<std::string> notices;  // for people
  bool same_run = false;             // it was not asked for: it must be of this run
  std::vector<std::string> skipped;  // newer checkpoints of the output folder, none of which verified
};

// Reads only. `plan` is resolved for a fresh start; when its data are estimated they are not compared.
// Error(kUsage) when the folder holds another run, Error(kData) when a checkpoint that is asked for cannot be
// used.
ResumeDecision decide_resume(const Inputs& inputs, const plan::RunPlan& plan);

// SavingPlan::same_run: nobody asked where it goes on from, nor that its callbacks begin anew, and it is the run that is there. `plan`: with
// its data.
bool goes_on_as_it_was(const Inputs& inputs, const ResumeDecision& decision, const plan::RunPlan& plan);

// What decide_resume could not compare of the run that is there, once the data are prepared. Error(kUsage). Other data to be
// evaluated on are a further notice.
void check_same_data(const Inputs& inputs, const plan::RunPlan& plan, ResumeDecision& decision);

// The output folder as this run's own: locked, and cleared of what dead saves left. Until begin() it is as it was; where
// the run ends before, the lock goes, and so do folders that were made for it. Where it ends before keep(), an old run that
// was moved aside comes back to its place.
class OutputFolder {
 public:
  // `tell`: for people, what becomes of an old run at an end before keep().
  OutputFolder(const Inputs& inputs, std::function<void(const std::string&)> tell);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::vector<std::string>& cleared() const { return cleared_; }  // for people
  // From here on the run writes. What is there is moved aside first where that is asked for; says so, for people. `prepared`:
  // splits by name and where their samples are, which alone know the images that rows name.
  std::vector<std::string> begin(const std::map<std::string, std::string>& prepared = {});
  // Since begin(): checkpoints of this folder that the run passes over, as it would take their places; says so, for people, with
  // `why`. Nothing where all was moved aside.
  std::vector<std::string> move_aside(const std::vector<std::string>& checkpoints, const std::string& why);
  // From here on ranks run, and what they write stays.
  void keep() { moved_.clear(); }
  // Since begin(): whether it is still the one of its name.
  const std::optional<storage::OutputPlace>& place() const { return place_; }

 private:
  void move_back();

  const Inputs& inputs_;
  std::function<void(const std::string&)> tell_;
  storage::RunLock lock_;
  std::vector<std::string> cleared_;
  std::string moved_;  // where an old run is that may have to come back
  std::optional<storage::OutputPlace> place_;
  bool begun_ = false;
};

// The last parts of `decision`'s skipped checkpoints; and the checkpoints of `output_dir` that have such names.
std::vector<std::string> names_of_skipped(const ResumeDecision& decision);
std::vector<std::string> checkpoints_named(const std::string& output_dir,
                                           const std::vector<std::string>& names);

// What tells the checkpoint `folder` from others, without reading all of it; nothing where it is not there.
struct CheckpointMark {
  int64_t step = 0;
  std::string files;  // a hash of what its manifest says of them, or of what another trainer logged
  bool operator==(const CheckpointMark&) const = default;
};
CheckpointMark checkpoint_mark(const std::string& folder);

// Of a node that has an output folder of its own: the plan of node 0, with its folder. Where that plan goes
// on from a checkpoint of the run, this folder must hold the same one; where it begins anew, no other run.
// Error(kData) and Error(kUsage). Verifies all of the checkpoint.
plan::RunPlan plan_for_own_folder(plan::RunPlan plan, const Inputs& inputs);

}  // namespace hftrain::front
