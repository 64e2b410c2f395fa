// Whether an output folder is still the one that a run began to write into. The lock keeps other runs out of the folder, not out
// of its name: who moves or removes the folder of a run that lives frees it for another one.
#pragma once

#include <optional>
#include <string>

#include "hftrain/base/file.h"

namespace hftrain::storage {

// Of any process of the run, on any machine, while a front program holds the RunLock. One thread at a time may ask.
class OutputPlace {
 public:
  // A folder without a lock is not watched, and is always in place.
  explicit OutputPlace(const std::string& output_dir);

  // False only where that is sure. A network file system may number a file otherwise when it is asked again, so another
  // number counts with another text in the lock, or with none there. Somebody may remove the lock alone: nobody has taken
  // the folder by that.
  bool in_place() const;
  // Where the folder is: its own path, or the one that it was moved to as far as this machine knows; else nothing.
  std::optional<std::string> now() const;
  // Error(kDisk) where it is not in place, saying where it went and who has its name.
  void check() const;

 private:
  std::string output_dir_;
  FileDescriptor own_folder_, lock_;  // of the folder that the run began in, wherever it is
  std::string text_;                  // of the lock then
};

}  // namespace hftrain::storage
