// manifest.json of a checkpoint: what it is, and the size and hash of every file in it. It is written last; a
// checkpoint folder without a manifest was never finished. Page: docs/checkpoint_format.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/storage/safetensors_writer.h"
#include "hftrain/storage/watched_file_system.h"

namespace hftrain::storage {

inline constexpr const char* kManifestName = "manifest.json";

struct Manifest {
  int64_t step = 0;
  int world_size = 1;
  std::string plan_hash;
  std::string hftrain_version;
  double time = 0;  // Unix seconds
  Json identity =
      Json::object();  // what must be equal for a run to continue from here: model, data, task, seed
  std::vector<FileRecord> files;  // relative paths, sorted; without the manifest itself
};

// The text of manifest.json. It holds a hash of its own content, so that damage to the manifest is found too.
std::string render_manifest(const Manifest& manifest);
// Error(kData) naming `origin`: not JSON, of an unknown format version, damaged, or with a path that leaves
// the folder.
Manifest parse_manifest(const std::string& text, const std::string& origin);
Manifest read_manifest(const std::string& checkpoint);

struct Verification {
  bool ok = false;
  std::string file;    // the first bad file, by name; empty when ok
  std::string reason;  // why it is bad: "is missing", "has 10 bytes, the manifest says 12", …
  int64_t step = 0;    // of the manifest, when it could be read
  size_t files = 0;    // files checked against the manifest
  uint64_t bytes = 0;
};

// Hashes `files` of a folder with up to `threads` threads, which tell `progress` of what they read; what it throws
// ends them and is thrown on. `step` of the answer stays 0.
Verification verify_files(const std::string& folder, const std::vector<FileRecord>& files, int threads = 4,
                          const ByteProgress& progress = {});

// Hashes every file of a checkpoint with up to `threads` threads. Extra files are fine. Never throws for a
// bad checkpoint: that is an expected outcome.
Verification verify_checkpoint(const std::string& checkpoint, int threads = 4,
                               const ByteProgress& progress = {});
// The same of the files that hold its model alone: weights, their index, an adapter with its settings. The state that a run goes on
// from may be missing.
Verification verify_model(const std::string& checkpoint, int threads = 4, const ByteProgress& progress = {});

}  // namespace hftrain::storage
