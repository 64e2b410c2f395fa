// Whole checkpoints of a run: who writes what, and the commit that makes them visible.
//
// checkpoint-N/ holds what transformers writes (config, weights, tokenizer files, trainer_state.json) and our
// own state (optimizer/, rng/, hftrain_state.json, manifest.json). With a sharded state dict the weights are
// in model/, as every rank's parts. Page: docs/checkpoint_format.md
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/checkpoint/background_task.h"
#include "hftrain/checkpoint/checkpoint_contents.h"
#include "hftrain/checkpoint/checkpointed_run.h"
#include "hftrain/checkpoint/node_folders.h"
#include "hftrain/checkpoint/staged_copy.h"
#include "hftrain/runtime/device_runtime.h"
#include "hftrain/storage/output_place.h"
#include "hftrain/storage/watched_file_system.h"

namespace hftrain::checkpoint {

// What a committing rank does when a checkpoint is there and verified in all folders, as the last part of the
// save: on the thread in the background when that one made it in the only folder. Its failure is the save's.
using AfterCommit = std::function<void()>;

// Functions are collective unless they say otherwise. A save is done by every rank for its own files; rank 0
// commits, after the nodes that have folders of their own (node_folders.h): what is in its folder is in all.
// A rank holds at most one tensor more than it trains with, the one on its way, unless it saves in
// the background:
//
//   checkpointer.reserve_copy();                         // once, before training
//   checkpointer.begin_save(contents, after);            // copies to memory, and training goes on
//   …at a step boundary, when all ranks are at_rest():
//   if (auto path = checkpointer.advance_save()) …       // committed; else somebody is committing now
//   checkpointer.finish_save();                          // or wait for it
//
// Only the training thread communicates: the ranks learn by what they exchange at their step boundaries that
// all files are durable.
class Checkpointer {
 public:
  // `files` is the real file system but in tests. `device` may be null when the state is in host memory.
  // `progress` is told of the bytes that this rank writes and verifies. All must outlive the object.
  Checkpointer(const CheckpointedRun& run, storage::FileSystem& files,
               const runtime::DeviceRuntime* device = nullptr, storage::ByteProgress progress = {});
  // A save that is under way is given up, and nothing of it stays; a commit that has begun is waited for. Not collective.
  ~Checkpointer();

  // Writes, verifies and commits checkpoint-N; returns its path. When any rank fails at that, rank 0 commits nothing and
  // earlier checkpoints stay; every rank throws, its own failure or one with the exit code of the first.
  std::string save(const CheckpointContents& contents, const AfterCommit& after = {});

  // Does all of a save but the last rename, verifies what was written and removes it. Fails as save() does.
  void rehearse(const CheckpointContents& contents);

  // Local: a thread makes the memory that saves in the background copy to, so that the first one does not
  // wait for new pages. When that fails the first save does.
  void reserve_copy();
  // The same as save() in the background. Not while another save is under way.
  void begin_save(const CheckpointContents& contents, AfterCommit after = {});
  // Local: one is under way.
  bool saving() const { return in_flight_ != nullptr; }
  // Local: no thread of this rank works on it, so it waits for the other ranks.
  bool at_rest() const { return !background_.running(); }
  // Waits for this rank's thread and takes the next step together with the others. The path when the
  // checkpoint is committed and verified; fails as save() does.
  std::optional<std::string> advance_save();
  std::string finish_save();

 private:
  struct Save;
  std::unique_ptr<Save> open_save(const CheckpointContents& contents, AfterCommit after);
  std::optional<Error> write_files(const CheckpointContents& contents, SaveTarget& target);
  void complete(Save& save);
  // Of a committing rank, once the files of all ranks are there: those that the Trainer goes on from.
  void add_trainer_files(Save& save);
  void commit(Save& save);
  void after_commit(Save& save);
  // By the copy in memory, if the run saves in the background.
  std::optional<Error> write_for_rehearsal(const CheckpointContents& contents, Save& save);
  void check_free_space() const;
  uint64_t copied_bytes() const;
  bool commits() const { return nodes_.commits(run_.communicator.rank()); }

  const CheckpointedRun run_;
  storage::ByteProgress progress_;
  storage::WatchedFileSystem files_;
  const runtime::DeviceRuntime* device_;
  const NodeFolders nodes_;
  const storage::OutputPlace place_;  // of this rank's node; nothing is begun or committed elsewhere

  StagedCopy staged_;
  std::unique_ptr<Save> in_flight_;
  std::atomic<bool> abandoned_ = false;
  BackgroundTask background_;  // uses the above
};

}  // namespace hftrain::checkpoint
