// What is pushed, as it is now: links to files that do not change any more, and copies of those that do, in a folder of its
// own, so that a checkpoint may go while it is on its way.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "hftrain/hub/push.h"

namespace hftrain::front {

// Removed with everything in it at its end.
class PushSnapshot {
 public:
  // Made anew. Throws when it cannot be, as the members below do: an Error (kDisk), also once `stop`, which must outlive the object,
  // is true, or std::filesystem's.
  PushSnapshot(std::string folder, const std::atomic<bool>& stop);
  PushSnapshot(const PushSnapshot&) = delete;
  PushSnapshot& operator=(const PushSnapshot&) = delete;
  ~PushSnapshot();

  // The output folder when the training has ended (pushed_files.h says what of it).
  void take_output(const std::string& output_dir);
  // The model of a checkpoint in the place of the output folder's, and the rest as above. False when it has only ranks' parts of
  // it, and nothing is taken.
  bool take_model(const std::string& output_dir, const std::string& checkpoint);
  // All files of a checkpoint, below `name` in the repository.
  void take_checkpoint(const std::string& checkpoint, const std::string& name);

  const std::vector<hub::PushedFile>& files() const { return files_; }

 private:
  void take(const std::string& from, const std::string& path, bool changes);
  void copy(const std::string& from, const std::string& to) const;

  std::string folder_;
  const std::atomic<bool>& stop_;
  std::vector<hub::PushedFile> files_;
};

}  // namespace hftrain::front
