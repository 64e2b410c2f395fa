#include "hftrain/storage/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "hftrain/base/clock.h"
#include "hftrain/base/disk_space.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/storage/interrupted_writes.h"

namespace hftrain::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnFolder = "hftrain";

// Its first line is for people. In containers two runs may have one name of the machine and one number.
std::string holder_text() {
  char host[256] = "unknown host";
  ::gethostname(host, sizeof host - 1);
  return "process " + std::to_string(::getpid()) + " on " + host + "\nbegun " +
         std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + '\n';
}

Error folder_in_use(const std::string& output_dir, const std::string& holder) {
  return Error(ExitCode::kUsage, "another run is using the output folder")
      .where(output_dir)
      .why(holder.empty() ? "its lock is held" : "its lock is held by " + holder)
      .hint("wait for it to end, stop it, or choose another --output_dir");
}

Error no_folder(const std::string& output_dir) {
  return Error(ExitCode::kUsage, "the output folder is no folder")
      .where(output_dir + " (--output_dir)")
      .why("there is a file of that name")
      .hint("another --output_dir, or move the file away");
}

void refuse_file(const std::string& output_dir) {
  if (path_exists(output_dir) && !is_folder(output_dir)) throw no_folder(output_dir);
}

// The name without a trailing slash, so that a sibling's name can be made from it. Of a link, the name of the folder that it
// leads to: the link stays, and runs go on to lie there, perhaps on another file system.
std::string plain_path(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  const fs::path plain = normal.has_filename() ? normal : normal.parent_path();
  std::error_code failed;
  if (!fs::is_symlink(plain, failed)) return plain.string();
  const fs::path folder = fs::canonical(plain, failed);
  return failed ? plain.string() : folder.string();
}

// A link that leads nowhere is somebody's, too.
bool is_missing(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() == fs::file_type::not_found;
}

// The lock file and the folders above it that are not there, the innermost first.
std::vector<std::string> missing_above(const std::string& path) {
  std::vector<std::string> missing;
  for (fs::path place = path; !place.empty() && is_missing(place); place = place.parent_path())
    missing.push_back(place.string());
  return missing;
}

// Who only looks whether a folder is in use shares its lock for a moment, and holds no run off.
bool others_only_look(const FileDescriptor& file) {
  const bool shared = ::flock(file.get(), LOCK_SH | LOCK_NB) == 0;
  if (shared) ::flock(file.get(), LOCK_UN);
  return shared;
}

// A run that never began may take back at that moment what is being made: a folder is gone then between two calls. So is, for
// a moment, what a link leads to while another start moves it aside.
void make_own_folder(const std::string& folder) {
  constexpr int kTries = 100;
  for (int tried = 1;; ++tried) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (!error) return;
    const bool may_pass = error == std::errc::no_such_file_or_directory || error == std::errc::file_exists;
    if (!may_pass || tried == kTries) throw cannot_create_folder(folder, error.value());
    ::usleep(1000);
  }
}

// For a moment a link does so whose folder another start moves aside.
bool leads_nowhere(const std::string& folder) {
  constexpr int kTries = 100;
  for (int tried = 0; tried < kTries; ++tried) {
    if (link_to_nowhere(folder).empty()) return false;
    ::usleep(1000);
  }
  return true;
}

// For a lock that could not be had. A file of its name is another run's, or will be, and stays with what it lies in.
void remove_empty_folders(const std::vector<std::string>& made, const std::string& lock) {
  for (const std::string& path : made) {
    if (path != lock && ::rmdir(path.c_str()) != 0 && errno != ENOENT) break;
  }
}

// Between two starts each may find the other one looking, so neither gives up for that. A file that was moved aside or
// removed in between is nobody's lock any more. That is believed for a while, not for ever: nobody moves a folder again and
// again, but a network file system may number a file otherwise at each question, and its locks hold nevertheless.
FileDescriptor lock_file(const std::string& output_dir, const std::string& path) {
  constexpr double kPatience = 10;  // seconds
  const double until = monotonic_seconds() + kPatience;
  while (true) {
    const bool late = monotonic_seconds() >= until;
    make_own_folder(output_dir + '/' + kOwnFolder);
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!file && (errno != ENOENT || late)) throw system_error(errno, "cannot open", path, ExitCode::kDisk);
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      if (late || is_still_at(file, path)) return file;
    } else if (file) {
      if (errno != EWOULDBLOCK) throw system_error(errno, "cannot lock", path);
      if (late || !others_only_look(file)) throw folder_in_use(output_dir, holder_of(file));
    }
    ::usleep(static_cast<useconds_t>(1000 + ::getpid() % 10 * 500));  // not all at the same pace
  }
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end; item.increment(error)) {
    names.push_back(item->path().filename().string());
  }
  if (error == std::errc::not_a_directory) throw no_folder(folder);
  if (error && error != std::errc::no_such_file_or_directory) {
    throw system_error(error.value(), "cannot list", folder);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// For a file system that renames in one way only, as NFS: the name is taken by something empty of ours, whose place the
// rename takes. What somebody else has put there meanwhile makes it fail.
bool rename_to_taken_name(const std::string& from, const std::string& to) {
  if (::mkdir(to.c_str(), 0777) != 0) return false;
  if (::rename(from.c_str(), to.c_str()) == 0) return true;
  const int error = errno;
  ::rmdir(to.c_str());
  errno = error;
  return false;
}

// NOREPLACE: an empty folder of that name is somebody's, too.
bool rename_folder(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  return errno == EINVAL && rename_to_taken_name(from, to);
}

void sync_name(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  sync_directory(parent.empty() ? "." : parent);
}

// What front programs write before ranks run, and nothing else.
bool holds_only_a_start(const std::string& folder) {
  if (names_in(folder) != std::vector<std::string>{kOwnFolder}) return false;
  const std::vector<std::string> names = names_in(folder + '/' + kOwnFolder);
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "lock" || name == "arguments.yaml" || name == "plan.json" || name == "nodes";
  });
}

void remove_start(const std::string& folder, RunLock& lock) {
  std::error_code ignored;
  const std::string own = folder + '/' + kOwnFolder;
  for (const char* name : {"arguments.yaml", "plan.json", "nodes"}) fs::remove_all(own + '/' + name, ignored);
  lock.take_back();
  for (const std::string& made : {own, folder}) ::rmdir(made.c_str());  // by another front program, perhaps
}

}  // namespace

std::string lock_text(const FileDescriptor& lock) {
  char text[512];
  const ssize_t size = ::pread(lock.get(), text, sizeof text, 0);
  return trim(std::string(text, size > 0 ? static_cast<size_t>(size) : 0));
}

std::string holder_of(const FileDescriptor& lock) {
  const std::string text = lock_text(lock);
  return text.substr(0, text.find('\n'));
}

std::string lock_path(const std::string& output_dir) {
  return output_dir + '/' + kOwnFolder + "/lock";
}

bool is_still_at(const FileDescriptor& file, const std::string& path) {
  struct stat held {
  }, there{};
  return ::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

RunLock::RunLock(const std::string& output_dir) : path_(lock_path(output_dir)) {
  refuse_file(output_dir);
  made_ = missing_above(path_);
  try {
    file_ = lock_file(output_dir, path_);
  } catch (...) {
    remove_empty_folders(made_, path_);
    throw;
  }
  const std::string holder = holder_text();
  const bool written = ::ftruncate(file_.get(), 0) == 0 && ::pwrite(file_.get(), holder.data(), holder.size(),
                                                                    0) == static_cast<ssize_t>(holder.size());
  if (!written) {
    const int error = errno;
    take_back();
    throw system_error(error, "cannot write", path_, ExitCode::kDisk);
  }
  sync_directory(output_dir);
}

bool RunLock::is_in_place() const {
  return is_still_at(file_, path_);
}

// Held until the last of it is gone: whoever waits for it sees then that it is not the file of that name any more. In a
// folder that was moved away meanwhile it stays; what has its name now is another run's.
void RunLock::take_back() {
  if (!made_.empty() && !is_in_place()) made_.clear();
  for (const std::string& path : made_) {
    const int failed = path == path_ ? ::unlink(path.c_str()) : ::rmdir(path.c_str());
    if (failed != 0) break;
  }
  made_.clear();
  file_.reset();
}

void check_not_in_use(const std::string& output_dir) {
  refuse_file(output_dir);
  const std::string path = lock_path(output_dir);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // What cannot be opened is no lock of a run, or what the run itself will stumble over.
  if (file && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw folder_in_use(output_dir, holder_of(file));
}

void check_can_take(const std::string& output_dir) {
  constexpr size_t kLongestNameBelow =
      256;  // of a file of a checkpoint while it is written, or of a rank's log
  check_not_in_use(output_dir);
  const bool unknown_name = ::access(output_dir.c_str(), F_OK) != 0 && errno == ENAMETOOLONG;
  if (unknown_name || output_dir.size() + kLongestNameBelow >= PATH_MAX)
    throw Error(ExitCode::kUsage, "the name of the output folder is too long")
        .where(output_dir + " (--output_dir)")
        .why(std::strerror(ENAMETOOLONG))
        .hint("a shorter --output_dir");
  if (leads_nowhere(output_dir)) throw cannot_create_folder(output_dir, ENOENT);
  if (const int error = folder_error(output_dir))
    throw system_error(error,
                       error == ENOTDIR ? "cannot create folder" : "cannot write into the output folder",
                       output_dir, ExitCode::kDisk);
}

std::vector<std::string> clean_output_dir(FileSystem& files, const std::string& output_dir) {
  std::vector<std::string> lines = clean_leftovers(files, output_dir);
  // Where no run was, such a name is somebody else's.
  if (!path_exists(output_dir + '/' + kOwnFolder + "/plan.json")) return lines;
  for (const std::string& folder : {output_dir, output_dir + '/' + kOwnFolder}) {
    for (std::string& line : remove_interrupted_writes(files, folder)) lines.push_back(std::move(line));
  }
  return lines;
}

OutputState inspect_output_dir(const std::string& output_dir) {
  OutputState state;
  if (!list_checkpoints(output_dir).empty()) {
    state.kind = OutputKind::kCheckpoints;
    state.newest = newest_verified_checkpoint(output_dir);
    if (state.newest.checkpoint) state.manifest = read_manifest(state.newest.checkpoint->path);
    return state;
  }
  for (const std::string& name : names_in(output_dir)) {
    if (name != kOwnFolder && !is_leftover_name(name) && !is_interrupted_write(name))
      state.foreign_names.push_back(name);
  }
  if (!state.foreign_names.empty()) state.kind = OutputKind::kForeign;
  return state;
}

std::string move_checkpoint_aside(const std::string& checkpoint) {
  for (int n = 1;; ++n) {
    std::string target = checkpoint + ".old-" + std::to_string(n);
    if (!rename_folder(checkpoint, target)) {
      if (errno != EEXIST) throw system_error(errno, "cannot move aside", checkpoint, ExitCode::kDisk);
      continue;
    }
    sync_name(target);
    return target;
  }
}

std::string move_run_aside(const std::string& output_dir, RunLock& lock) {
  const std::string folder = plain_path(output_dir);
  const bool empty = names_in(folder) == std::vector<std::string>{kOwnFolder} &&
                     names_in(folder + '/' + kOwnFolder) == std::vector<std::string>{"lock"};
  if (empty) return "";
  for (int n = 1;; ++n) {
    const std::string target = folder + ".old-" + std::to_string(n);
    if (!rename_folder(folder, target)) {
      if (errno != EEXIST) throw system_error(errno, "cannot move aside", folder, ExitCode::kDisk);
      continue;
    }
    try {
      sync_name(target);
      lock = RunLock(folder);  // of another file; who has opened the old one sees that it has moved
    } catch (Error& error) {
      if (!rename_folder(target, folder)) error.context("beginning anew; the old run is in " + target);
      throw;
    }
    return target;
  }
}

bool move_run_back(const std::string& moved, RunLock& lock) {
  // A link may lead nowhere by now: what was moved says where it was.
  const std::string folder = moved.substr(0, moved.rfind(".old-"));
  if (lock.is_in_place() && holds_only_a_start(folder)) remove_start(folder, lock);
  if (!rename_folder(moved, folder)) return false;
  try {
    sync_name(folder);
  } catch (const Error&) {  // it is there; what the disk has of it when the machine goes down nobody can say
  }
  return true;
}

}  // namespace hftrain::storage
