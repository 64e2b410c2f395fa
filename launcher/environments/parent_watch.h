// Watches the process that started this front program: mpirun, or the srun or torchrun process of this
// machine. When it dies, however it dies, nobody is left to end this program, so it gets SIGTERM: the run
// saves and ends.
//
// Owns a thread, which takes no signals.
#pragma once

#include <sys/types.h>

#include <thread>

#include "hftrain/base/file.h"
#include "launcher/environments/job_place.h"

namespace hftrain::launcher {

// Whether the launcher is the parent and stays as long as its processes do.
bool has_launcher_for_parent(const JobPlace& place);

class ParentWatch {
 public:
  ParentWatch();
  ParentWatch(const ParentWatch&) = delete;
  ParentWatch& operator=(const ParentWatch&) = delete;
  ~ParentWatch();

  bool parent_is_gone() const;

 private:
  void watch() const;

  FileDescriptor parent_;  // readable once it has ended
  FileDescriptor stop_;    // readable once this object ends
  std::thread thread_;
};

}  // namespace hftrain::launcher
