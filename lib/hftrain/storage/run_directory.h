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
  // Error(kUsage) naming the process and host of the holder when another run has it. Where the lock cannot be had no
  // empty folder stays that was made for it.
  explicit RunLock(const std::string& output_dir);
  RunLock(RunLock&&) = default;
  RunLock& operator=(RunLock&&) = default;

  // For a run that ends before it has begun: the lock file and the folders go that were made for it, as far as nothing
  // else has come into them, and the lock is released.
  void take_back();
  // False where the folder was moved or removed meanwhile: what has its name now is another one's.
  bool is_in_place() const;

 private:
  FileDescriptor file_;
  std::string path_;
  std::vector<std::string> made_;  // the lock file and folders, the innermost first
};

// The lock's path, its text, which no other run's is, who that says holds it, and whether `path` names the open file.
std::string lock_path(const std::string& output_dir);
std::string lock_text(const FileDescriptor& lock);
std::string holder_of(const FileDescriptor& lock);
bool is_still_at(const FileDescriptor& file, const std::string& path);

// What RunLock would say of a folder that another run holds; creates nothing and keeps nothing.
void check_not_in_use(const std::string& output_dir);
// The same, and whether the folder could be made or written into, as far as the system says without trying. Its
// name must leave room for those of the files in it.
void check_can_take(const std::string& output_dir);

// Removes what a run that was killed left behind: unfinished saves, and files that were being written. Call while holding
// the RunLock and before anything is written. For the log: what was removed or restored, and what could not be.
std::vector<std::string> clean_output_dir(FileSystem& files, const std::string& output_dir);

enum class OutputKind {
  kFresh,        // missing, or nothing but hftrain/ and what interrupted saves and writes left
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
// returns that path; empty when there was nothing to move. Of a link, the folder that it leads to, which begins anew where it
// was. `lock`, which was that folder's, is then the new one's.
std::string move_run_aside(const std::string& output_dir, RunLock& lock);
// Of a checkpoint that a run passes over and would replace when it comes to that step: renames it to <checkpoint>.old-<n>, the first
// free n from 1, where nothing takes it for a checkpoint, and returns that path.
std::string move_checkpoint_aside(const std::string& checkpoint);
// Of a run that ends before its ranks begin: what front programs wrote into the new folder goes, its lock too, and what was
// `moved` comes back. False, and it stays there, where the new folder holds anything else, is another run's or the name is
// taken.
bool move_run_back(const std::string& moved, RunLock& lock);

}  // namespace hftrain::storage
