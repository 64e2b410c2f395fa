// Watches the process that started this front program: mpirun, or the srun or torchrun process of this
// machine. When it dies, however it dies, nobody is left to end this program, so it gets SIGTERM: the run
// saves and ends.
//
// A parent outside this container's processes cannot be seen, and is not watched; its container ends with it.
// Owns a thread, which takes no signals.
#pragma once

#include <sys/types.h>

#include <thread>

#include "hftrain/base/file.h"
#include "launcher/environments/membership.h"

namespace hftrain::launcher {

// Whether the launcher is the parent and stays as long as its processes do.
bool has_launcher_for_parent(const Membership& membership);

class ParentWatch {
 public:
  // SIGTERM comes at once when the parent has ended before it could be watched. Error(kEnvironment) where the
  // system cannot watch it; std::system_error when it starts no thread.
  ParentWatch();
  ParentWatch(const ParentWatch&) = delete;
  ParentWatch& operator=(const ParentWatch&) = delete;
  ~ParentWatch();

  bool parent_is_gone() const;

 private:
  void watch() const;

  FileDescriptor parent_;  // readable once it has ended; none: it is out of sight
  FileDescriptor stop_;    // readable once this object ends
  bool was_gone_ = false;  // before it could be watched
  std::thread thread_;
};

}  // namespace hftrain::launcher
