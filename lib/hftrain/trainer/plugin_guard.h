// Calls into what is not ours: what it throws becomes an Error that names it.
#pragma once

#include <string>
#include <utility>

namespace hftrain::trainer {

struct PluginPart {
  std::string whole;  // "the plug-in 'mine'"
  std::string path;   // of its file
  std::string name;   // "the callback 'patience'"

  // Throws what the exception that is being handled becomes: memory and communication keep their exit codes, the rest is
  // kInternal. An Error of ours that only passes through stays as it is.
  [[noreturn]] void rethrow(const char* doing) const;

  // `doing`: where in the run, "on_step_end".
  template <typename Call>
  decltype(auto) call(const char* doing, Call&& function) const {
    try {
      return std::forward<Call>(function)();
    } catch (...) {
      rethrow(doing);
    }
  }
};

}  // namespace hftrain::trainer
