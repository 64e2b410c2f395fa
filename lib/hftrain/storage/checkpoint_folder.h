// Checkpoint folders of one output_dir: writing one so that it is there whole or not at all, and finding the
// newest that can be trusted.
//
// A save writes into output_dir/.checkpoint-N.tmp-<id>, syncs, writes the manifest, reads all of it back,
// renames the folder to checkpoint-N and syncs output_dir. A checkpoint-N from an earlier run of the same
// step steps aside as .checkpoint-N.replaced-<id> before that rename and is deleted after it; if the machine
// dies in between, clean_leftovers() puts it back.
//
// What is of no more use becomes .checkpoint-N.trash-<id> by a rename and is then removed. Removing may fail
// (a network file system keeps a file that is open somewhere, a file may be immutable, a folder may not let itself be
// listed): that is told and tried again later, and is never a reason to end or not to begin.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/storage/file_system.h"
#include "hftrain/storage/manifest.h"
#include "hftrain/storage/safetensors_writer.h"
#include "hftrain/storage/watched_file_system.h"

namespace hftrain::storage {

struct CheckpointInfo {
  int64_t step = 0;
  std::string path;
};

struct SkippedCheckpoint {
  std::string path;
  std::string reason;  // "model.safetensors is missing", …
};

struct NewestCheckpoint {
  std::optional<CheckpointInfo> checkpoint;  // nullopt: none verifies
  std::vector<SkippedCheckpoint> skipped;    // newer ones that do not verify, newest first
};

// "checkpoint-N" below `output_dir`.
std::string checkpoint_path(const std::string& output_dir, int64_t step);

// Committed checkpoints by ascending step: folders named checkpoint-<number> that have a manifest.
std::vector<CheckpointInfo> list_checkpoints(const std::string& output_dir);
// The same behind a save, which stands whatever becomes of older ones: a folder that cannot be listed is a warning.
struct OlderCheckpoints {
  std::vector<CheckpointInfo> checkpoints;
  std::string warning;  // empty: the folder was listed
};
OlderCheckpoints try_to_list(const std::string& output_dir);
// Names of folders called checkpoint-<number> that something else wrote (the Trainer's have no manifest) where no run of
// hftrain has been, by ascending step: a save of that step would take their place.
std::vector<std::string> others_checkpoints(const std::string& output_dir);
// Names checkpoint-<number> of what is no folder, sorted.
std::vector<std::string> files_in_the_way(const std::string& output_dir);

// Verifies from the newest down and stops at the first good one. Folders named checkpoint-<number> without a
// manifest (of another trainer, say) are among the skipped.
NewestCheckpoint newest_verified_checkpoint(const std::string& output_dir);

// Removes what dead saves and deletions left behind (only names of this module's making), and puts a replaced
// checkpoint back whose successor never arrived. Call while holding the RunLock and before the first save.
// Returns what was removed or restored, and what could not be removed and why, for the log.
std::vector<std::string> clean_leftovers(FileSystem& files, const std::string& output_dir);

// files.remove(path) for what is of no more use: why it failed, for a warning; empty when nothing is left.
std::string try_to_remove(FileSystem& files, const std::string& path);

// Once more for the trash of deletions that failed, and for replaced checkpoints whose successor is there. What failed
// again, for warnings; it is left for the next time, and so is all of it where the folder cannot be listed.
std::vector<std::string> remove_trash(FileSystem& files, const std::string& output_dir);

// True for the names of temporary, replaced and trashed folders that clean_leftovers() would handle.
bool is_leftover_name(std::string_view name);

// Makes the checkpoint invisible by a rename, durable before anything is removed, then removes it. What could
// not be done and why, for a warning; empty when nothing of it is left.
std::string delete_checkpoint(FileSystem& files, const CheckpointInfo& checkpoint);

// Files being put into a folder that is not committed yet. Every rank that writes has one for the same
// folder, and hands its records to the committing rank. Each file is durable when the call that wrote it
// returns. Used by one thread.
class StagedFiles {
 public:
  StagedFiles(FileSystem& files, std::string directory);

  // `name` is relative and may have one folder in front ("optimizer/…"), which is created.
  void put(const std::string& name, std::string_view bytes);
  // A file of another folder, under `name`.
  void copy_from(const std::string& source, const std::string& name);
  // A safetensors file: write its tensors to the result, then give it to close().
  SafetensorsWriter open_safetensors(const std::string& name, std::vector<TensorEntry> entries,
                                     SafetensorsMetadata metadata = pt_metadata(),
                                     TensorOrder order = TensorOrder::kByName);
  void close(SafetensorsWriter& writer);
  // A file of another writer, which is given the path of `name` and gives the record of what it wrote there, synced.
  void add(const std::string& name, const std::function<FileRecord(FileSystem&, const std::string&)>& write);
  // Makes the names durable: call once, when all files of this rank are in place.
  void sync_names();

  const std::string& directory() const noexcept { return directory_; }
  // Paths relative to the folder.
  const std::vector<FileRecord>& records() const noexcept { return records_; }

 private:
  std::string place(const std::string& name);
  void record(const FileRecord& written);

  FileSystem* files_;
  std::string directory_;
  std::vector<std::string> folders_;  // below directory_, created by this object
  std::vector<FileRecord> records_;
};

// One save, driven by the committing rank. Without commit() nothing of it stays.
class CheckpointTransaction {
 public:
  // Creates the temporary folder. `files` must outlive the object.
  CheckpointTransaction(FileSystem& files, const std::string& output_dir, int64_t step);
  CheckpointTransaction(const CheckpointTransaction&) = delete;
  CheckpointTransaction& operator=(const CheckpointTransaction&) = delete;
  ~CheckpointTransaction();

  // Tell it to the other ranks, which open StagedFiles on it.
  const std::string& directory() const noexcept { return directory_; }

  // Called once, after every rank reported its files durable; manifest.files holds the records of all of
  // them. Writes the manifest, hashes all files again in up to `threads` threads and makes the checkpoint
  // visible; returns its final path. An Error leaves earlier checkpoints as they were, one of the same step
  // among them, but for one of the last sync, of output_dir: the new one is in its place by then. A replaced checkpoint
  // that cannot be removed stays hidden; remove_trash() tells of it and tries again.
  std::string commit(Manifest manifest, int threads = 1, const ByteProgress& progress = {});
  // The first half of it: all but the last rename. For a save that is only tried.
  void seal(Manifest manifest, int threads = 1, const ByteProgress& progress = {});
  // Removes the temporary folder; a failure to do so is left to clean_leftovers().
  void abort() noexcept;

 private:
  void check_files(const Manifest& manifest) const;
  void read_back(int threads, const ByteProgress& progress) const;
  void publish();

  FileSystem* files_;
  std::string output_dir_;
  int64_t step_;
  std::string directory_;
  bool open_ = true;
};

}  // namespace hftrain::storage
