#include "hftrain/storage/output_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/storage/run_directory.h"

namespace hftrain::storage {
namespace {

namespace fs = std::filesystem;

std::string own_folder_of(const std::string& output_dir) {
  return fs::path(lock_path(output_dir)).parent_path().string();
}

// Whose lock stands there now. What cannot be read is taken for the run's own, and so is one of the text that `own` had or
// has: written on another machine it may come late, and a server that was started anew may not know the open file any more.
enum class LockThere { kOwn, kNone, kAnother };

LockThere lock_there(const FileDescriptor& own, const std::string& begun_with, const std::string& path) {
  if (is_still_at(own, path)) return LockThere::kOwn;
  const FileDescriptor there(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!there) return errno == ENOENT || errno == ENOTDIR ? LockThere::kNone : LockThere::kOwn;
  const std::string text = lock_text(there);
  return text == begun_with || text == lock_text(own) ? LockThere::kOwn : LockThere::kAnother;
}

bool is_removed(const FileDescriptor& folder) {
  struct stat status {};
  return ::fstat(folder.get(), &status) == 0 && status.st_nlink == 0;
}

// The kernel's name for it, which is of no use where another machine has moved it.
std::optional<std::string> moved_to(const FileDescriptor& own_folder) {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(own_folder.get()), error);
  if (error || !is_still_at(own_folder, path.string())) return std::nullopt;
  return path.parent_path().string();
}

}  // namespace

OutputPlace::OutputPlace(const std::string& output_dir)
    : output_dir_(output_dir),
      own_folder_(::open(own_folder_of(output_dir).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      lock_(::open(lock_path(output_dir).c_str(), O_RDONLY | O_CLOEXEC)) {
  if (lock_) text_ = lock_text(lock_);
}

bool OutputPlace::in_place() const {
  if (!lock_ || !own_folder_) return true;
  const LockThere there = lock_there(lock_, text_, lock_path(output_dir_));
  return there == LockThere::kOwn ||
         (there == LockThere::kNone && is_still_at(own_folder_, own_folder_of(output_dir_)));
}

std::optional<std::string> OutputPlace::now() const {
  return in_place() ? output_dir_ : moved_to(own_folder_);
}

void OutputPlace::check() const {
  if (in_place()) return;
  const std::optional<std::string> place = moved_to(own_folder_);
  const FileDescriptor lock(::open(lock_path(output_dir_).c_str(), O_RDONLY | O_CLOEXEC));
  const std::string taken =
      lock ? "; what has its name now is the folder of another run, of " + holder_of(lock) : "";
  const std::string fate = place                     ? "moved to " + *place
                           : is_removed(own_folder_) ? "removed"
                                                     : "moved or removed";
  throw Error(ExitCode::kDisk, "the output folder is not the one that this run began in")
      .where(output_dir_)
      .why("it was " + fate + " while the run was going on" + taken)
      .hint(place ? "the log and the checkpoints of this run are in " + *place +
                        ": the same command with --output_dir " + *place + " goes on from the newest one"
                  : "start the run again, and leave its folder where it is until it has ended");
}

}  // namespace hftrain::storage
