// What binds a front program to the launcher that started it, from its beginning to after the end of its
// ranks: it does not outlive mpirun, srun or torchrun, and takes away what those could not.
#pragma once

#include <optional>

#include "hftrain/base/environment.h"
#include "launcher/environments/membership.h"
#include "launcher/environments/parent_watch.h"

namespace hftrain::launcher {

class LauncherTie {
 public:
  // `environment`, as it was inherited, must outlive the object.
  LauncherTie(const Membership& membership, const Environment& environment);
  LauncherTie(const LauncherTie&) = delete;
  LauncherTie& operator=(const LauncherTie&) = delete;
  ~LauncherTie();

 private:
  const Environment& environment_;
  std::optional<ParentWatch> parent_;
};

}  // namespace hftrain::launcher
