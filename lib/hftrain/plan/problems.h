// Collects what resolve must refuse.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"

namespace hftrain::plan {

class Problems {
 public:
  void add(ExitCode code, Diagnostic diagnostic) {
    if (diagnostics_.empty()) code_ = code;
    diagnostics_.push_back(std::move(diagnostic));
  }
  void usage(std::string what, std::string where, std::string why, std::string hint) {
    add(ExitCode::kUsage,
        {Diagnostic::Severity::kError, std::move(what), std::move(where), std::move(why), std::move(hint)});
  }
  void environment(std::string what, std::string where, std::string why, std::string hint) {
    add(ExitCode::kEnvironment,
        {Diagnostic::Severity::kError, std::move(what), std::move(where), std::move(why), std::move(hint)});
  }
  bool none() const { return diagnostics_.empty(); }
  void throw_if_any() const {
    if (!diagnostics_.empty()) throw Error(code_, diagnostics_);
  }

 private:
  ExitCode code_ = ExitCode::kUsage;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace hftrain::plan
