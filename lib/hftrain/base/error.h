// The one exception of the project, and the value form of its message.
//
// A message for users has four parts: what went wrong, where (flag, file:line:column, rank), why, and what to
// do. Expected outcomes (no checkpoint, early stop) are values, not errors. Foreign exceptions are translated
// once, in the module that owns the dependency. Only main() prints.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "hftrain/base/exit_code.h"

namespace hftrain {

struct Diagnostic {
  enum class Severity { kNote, kWarning, kError };
  Severity severity = Severity::kError;
  std::string what;
  std::string where;
  std::string why;
  std::string hint;

  // "what" on the first line, the other parts, when present, each on an indented line of its own.
  std::string render() const;
};

class Error : public std::exception {
 public:
  Error(ExitCode code, std::string what);
  // Several mistakes found in one pass; `diagnostics` must not be empty.
  Error(ExitCode code, std::vector<Diagnostic> diagnostics);

  // Fill in parts of the first diagnostic: throw Error(code, "...").where(path).why(reason).hint(action);
  Error& where(std::string text);
  Error& why(std::string text);
  Error& hint(std::string text);
  // Adds "while doing x" when unwinding through a caller that knows more.
  Error& context(std::string text);

  ExitCode code() const noexcept { return code_; }
  const std::vector<Diagnostic>& diagnostics() const noexcept { return diagnostics_; }
  // All diagnostics and context lines, ready for a terminal, without a trailing newline.
  std::string render() const;
  const char* what() const noexcept override { return diagnostics_.front().what.c_str(); }

 private:
  ExitCode code_;
  std::vector<Diagnostic> diagnostics_;
  std::vector<std::string> context_;
};

// An Error for the errno of a failed file operation: ENOSPC, EDQUOT, EIO and EFBIG become kDisk, ENOMEM
// kHostMemory, the rest `otherwise`. `action` is what was tried ("cannot write"), `path` the file.
Error system_error(int error_number, std::string action, const std::string& path,
                   ExitCode otherwise = ExitCode::kEnvironment);

}  // namespace hftrain
