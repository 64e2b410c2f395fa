#include "hftrain/storage/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/storage/interrupted_writes.h"

namespace hftrain::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnFolder = "hftrain";

std::string holder_text() {
  char host[256] = "unknown host";
  ::gethostname(host, sizeof host - 1);
  return "process " + std::to_string(::getpid()) + " on " + host + '\n';
}

std::string lock_path(const std::string& output_dir) {
  return output_dir + '/' + kOwnFolder + "/lock";
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
  std::error_code ignored;
  if (fs::exists(output_dir, ignored) && !fs::is_directory(output_dir, ignored)) throw no_folder(output_dir);
}

// The name without a trailing slash, so that a sibling's name can be made from it.
std::string plain_path(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return normal.has_filename() ? normal.string() : normal.parent_path().string();
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

}  // namespace

RunLock::RunLock(const std::string& output_dir) {
  refuse_file(output_dir);
  create_directories(output_dir + '/' + kOwnFolder);
  const std::string path = lock_path(output_dir);
  file_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file_) throw system_error(errno, "cannot open", path, ExitCode::kDisk);
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) throw folder_in_use(output_dir, trim(read_file(path)));
    throw system_error(errno, "cannot lock", path);
  }
  const std::string holder = holder_text();
  const bool written = ::ftruncate(file_.get(), 0) == 0 && ::pwrite(file_.get(), holder.data(), holder.size(),
                                                                    0) == static_cast<ssize_t>(holder.size());
  if (!written) throw system_error(errno, "cannot write", path, ExitCode::kDisk);
  sync_directory(output_dir);
}

void check_not_in_use(const std::string& output_dir) {
  refuse_file(output_dir);
  const std::string path = lock_path(output_dir);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // What cannot be opened is no lock of a run, or what the run itself will stumble over.
  if (file && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw folder_in_use(output_dir, trim(read_file(path)));
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

std::string move_run_aside(const std::string& output_dir) {
  const std::string folder = plain_path(output_dir);
  if (names_in(folder).empty()) return "";
  const RunLock lock(folder);  // stays valid through the rename; the next run locks a new file
  for (int n = 1;; ++n) {
    const std::string target = folder + ".old-" + std::to_string(n);
    // NOREPLACE: an empty folder of that name is somebody's, too.
    if (::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0) {
      const std::string parent = fs::path(folder).parent_path().string();
      sync_directory(parent.empty() ? "." : parent);
      return target;
    }
    if (errno != EEXIST) throw system_error(errno, "cannot move aside", folder, ExitCode::kDisk);
  }
}

}  // namespace hftrain::storage
