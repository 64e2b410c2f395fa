#include "generate_prompts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "hftrain/base/error.h"

namespace hftrain::app {

PromptSource::PromptSource(const GenerateFlags& flags, launcher::StopSignals& stops) : flags_(flags) {
  if (!flags.prompts.empty()) return;
  if (!flags.prompt_file.empty()) {
    // Not waiting for who writes into a pipe, which a stop signal would not end.
    file_.reset(::open(flags.prompt_file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file_) throw system_error(errno, "cannot read the prompts", flags.prompt_file, ExitCode::kData);
  }
  lines_.emplace(file_ ? file_.get() : STDIN_FILENO,
                 flags.prompt_file.empty() ? "standard input" : flags.prompt_file, stops);
}

std::optional<std::string> PromptSource::next() {
  if (lines_) return lines_->next();
  if (used_ == flags_.prompts.size()) return std::nullopt;
  return flags_.prompts[used_++];
}

bool PromptSource::has_one() {
  return lines_ ? lines_->has_one() : used_ < flags_.prompts.size();
}

bool PromptSource::asks() const {
  return lines_ && !file_ && ::isatty(STDIN_FILENO) == 1;
}

std::string PromptSource::name() const {
  if (!lines_) return "--prompt";
  return flags_.prompt_file.empty() ? "standard input" : "--prompt_file " + flags_.prompt_file;
}

}  // namespace hftrain::app
