#include "launcher/environments/launcher_tie.h"

#include "launcher/environments/open_mpi_files.h"

namespace hftrain::launcher {

LauncherTie::LauncherTie(const Membership& membership, const Environment& environment)
    : environment_(environment) {
  if (has_launcher_for_parent(membership)) parent_.emplace();
}

LauncherTie::~LauncherTie() {
  if (!parent_) return;
  remove_shared_memory_of_rank(environment_);
  if (parent_->parent_is_gone()) remove_session_folder(environment_);
}

}  // namespace hftrain::launcher
