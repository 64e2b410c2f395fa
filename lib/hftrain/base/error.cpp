#include "hftrain/base/error.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace hftrain {

const char* exit_code_name(ExitCode code) {
  switch (code) {
    case ExitCode::kDone:
      return "done";
    case ExitCode::kInternal:
      return "internal error";
    case ExitCode::kUsage:
      return "usage or configuration";
    case ExitCode::kEnvironment:
      return "environment";
    case ExitCode::kData:
      return "data or model files";
    case ExitCode::kDeviceMemory:
      return "device out of memory";
    case ExitCode::kHostMemory:
      return "host out of memory";
    case ExitCode::kDisk:
      return "disk full or write error";
    case ExitCode::kDiverged:
      return "diverged";
    case ExitCode::kWorkerLost:
      return "worker lost";
    case ExitCode::kTerminatedUnsaved:
      return "terminated before a checkpoint could be committed";
    case ExitCode::kInterrupted:
      return "interrupted, state saved";
    case ExitCode::kTerminated:
      return "terminated, state saved";
  }
  return "unknown";
}

std::string Diagnostic::render() const {
  std::string text = what;
  if (!where.empty()) text += "\n  where: " + where;
  if (!why.empty()) text += "\n  why: " + why;
  if (!hint.empty()) text += "\n  try: " + hint;
  return text;
}

Error::Error(ExitCode code, std::string what) : code_(code) {
  Diagnostic diagnostic;
  diagnostic.what = std::move(what);
  diagnostics_.push_back(std::move(diagnostic));
}

Error::Error(ExitCode code, std::vector<Diagnostic> diagnostics)
    : code_(code), diagnostics_(std::move(diagnostics)) {
  if (diagnostics_.empty()) diagnostics_.emplace_back();
}

Error& Error::where(std::string text) {
  diagnostics_.front().where = std::move(text);
  return *this;
}

Error& Error::why(std::string text) {
  diagnostics_.front().why = std::move(text);
  return *this;
}

Error& Error::hint(std::string text) {
  diagnostics_.front().hint = std::move(text);
  return *this;
}

Error& Error::context(std::string text) {
  context_.push_back(std::move(text));
  return *this;
}

std::string Error::render() const {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics_) {
    if (!text.empty()) text += '\n';
    if (diagnostic.severity == Diagnostic::Severity::kWarning) text += "warning: ";
    if (diagnostic.severity == Diagnostic::Severity::kError) text += "error: ";
    text += diagnostic.render();
  }
  for (const std::string& line : context_) text += "\n  while: " + line;
  return text;
}

namespace {

const char* what_to_do(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "free space on that file system, or name a folder on another one";
    case EFBIG:
      return "see how large a file may be there (ulimit -f), or name a folder elsewhere";
    case EIO:
      return "look at that disk: the system log (dmesg) says more";
    case ENOENT:
      return "see whether the path is right; a relative one starts in the folder where hftrain was started";
    case EACCES:
    case EPERM:
    case EROFS:
      return "give this user the right to it, or name another path";
    case ENOTDIR:
    case EISDIR:
      return "see whether a file or a folder is meant, and name that";
    case EMFILE:
    case ENFILE:
      return "allow more open files (ulimit -n)";
    case ENOMEM:
      return "see what else uses memory, or raise the limit on it (ulimit -v, a control group's)";
    default:
      return "see whether that path can be used from a shell, or name another one";
  }
}

// Bytes are free there, and what a further file takes beside them is not. Some file systems have no such limit (f_files is 0).
bool has_no_room_for_files(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path place = std::filesystem::absolute(path, ignored);
  struct statvfs status {};
  while (::statvfs(place.c_str(), &status) != 0) {
    if (place.empty() || place == place.root_path()) return false;
    place = place.parent_path();
  }
  return status.f_files > 0 && status.f_ffree == 0 && status.f_bavail > 0;
}

}  // namespace

Error system_error(int error_number, std::string action, const std::string& path, ExitCode otherwise) {
  const bool disk =
      error_number == ENOSPC || error_number == EDQUOT || error_number == EIO || error_number == EFBIG;
  const ExitCode code = error_number == ENOMEM ? ExitCode::kHostMemory : disk ? ExitCode::kDisk : otherwise;
  Error error(code, std::move(action));
  error.where(path).why(std::strerror(error_number));
  if (error_number == ENOSPC && has_no_room_for_files(path))
    return error.why("that file system has no room for further files (inodes), though bytes are free")
        .hint("remove files there (`df -i` counts them), or name a folder on another file system");
  return error.hint(what_to_do(error_number));
}

}  // namespace hftrain
