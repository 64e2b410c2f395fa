// The output_dir of a run as a whole: one run at a time, what is in it already, and stepping aside for a new
// run.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/file.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/manifest.h"

namespace hftrain::storage {

// Holds <output_dir>/hftrain/lock for one process, so that a second run on the same folder is refused. The
// kernel releases it when the process ends, however it ends. The folder is created when missing.
class RunLock {
 public:
  // Error(kUsage) naming the process and host of the holder when another run has it.
  explicit RunLock(const std::string& output_dir);
  RunLock(RunLock&&) = default;
  RunLock& operator=(RunLock&&) = default;

 private:
  FileDescriptor file_;
};

// What RunLock would say of a folder that another run holds; creates nothing and keeps nothing.
void check_not_in_use(const std::string& output_dir);

// Removes what a run that was killed left behind: unfinished saves, and files that were being written. Call while holding
// the RunLock and before anything is written. For the log: what was removed or restored, and what could not be.
std::vector<std::string> clean_output_dir(FileSystem& files, const std::string& output_dir);

enum class OutputKind {
  kFresh,        // missing, or nothing but hftrain/ without a committed checkpoint
  kCheckpoints,  // at least one committed checkpoint
  kForeign,      // other content, no committed checkpoint
};

struct OutputState {
  OutputKind kind = OutputKind::kFresh;
  NewestCheckpoint newest;                 // verified from the newest down
  std::optional<Manifest> manifest;        // of newest.checkpoint: its plan_hash and identity
  std::vector<std::string> foreign_names;  // sorted; what makes it kForeign
};

// Reads only.
OutputState inspect_output_dir(const std::string& output_dir);

// For --overwrite_output_dir: renames the folder to <output_dir>.old-<n>, the first free n from 1, and
// returns that path; empty when there was nothing to move. Refused, as RunLock is, while a run uses the
// folder.
std::string move_run_aside(const std::string& output_dir);

}  // namespace hftrain::storage
