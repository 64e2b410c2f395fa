#include "hftrain/base/error.h"

#include <cerrno>
#include <cstring>
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

Error system_error(int error_number, std::string action, const std::string& path, ExitCode otherwise) {
  const bool disk =
      error_number == ENOSPC || error_number == EDQUOT || error_number == EIO || error_number == EFBIG;
  Error error(disk ? ExitCode::kDisk : otherwise, std::move(action));
  error.where(path).why(std::strerror(error_number));
  if (error_number == ENOSPC || error_number == EDQUOT) {
    error.hint("free space on that file system, or name another folder with --output_dir");
  }
  if (error_number == EIO) error.hint("check that disk (dmesg), or name another folder with --output_dir");
  if (error_number == EFBIG) error.hint("raise the limit on the size of files (ulimit -f)");
  return error;
}

}  // namespace hftrain
