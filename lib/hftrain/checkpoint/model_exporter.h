// The plain transformers folder of a run's model, beside or without checkpoints.
#pragma once

#include <string>
#include <vector>

#include "hftrain/checkpoint/checkpointed_run.h"
#include "hftrain/checkpoint/node_folders.h"
#include "hftrain/storage/manifest.h"
#include "hftrain/storage/output_place.h"
#include "hftrain/storage/watched_file_system.h"

namespace hftrain::checkpoint {

// Functions are collective. Rank 0 writes; where nodes have folders of their own (node_folders.h) all of them get the files.
class ModelExporter {
 public:
  // `files` must outlive the object. `progress` is told of the bytes that this rank writes.
  ModelExporter(const CheckpointedRun& run, storage::FileSystem& files, storage::ByteProgress progress = {})
      : run_(run), files_(files, std::move(progress)), nodes_(run.plan), place_(run.plan.output_dir) {}

  // Each file is replaced atomically.
  void export_model(const std::string& folder);

  // Writes what export_model writes, into the same staging folder, which is then removed.
  void rehearse(const std::string& folder);

 private:
  // Writes the model's files into `staging` below `folder`; what every rank wrote, by rank.
  std::vector<std::vector<storage::FileRecord>> stage(const std::string& folder, const std::string& staging);
  void publish(const std::vector<storage::FileRecord>& records, const std::string& staging,
               const std::string& folder);
  bool commits() const { return nodes_.commits(run_.communicator.rank()); }

  const CheckpointedRun run_;
  storage::WatchedFileSystem files_;
  const NodeFolders nodes_;
  const storage::OutputPlace place_;  // of this rank's node; nothing is begun or replaced elsewhere
};

}  // namespace hftrain::checkpoint
