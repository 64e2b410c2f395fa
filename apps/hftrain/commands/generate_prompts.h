// Where `hftrain generate` takes its prompts from: the command line, a file, or standard input.
#pragma once

#include <optional>
#include <string>

#include "generate_flags.h"
#include "hftrain/base/file.h"
#include "launcher/front/stoppable_lines.h"

namespace hftrain::app {

// One thread. `flags` and `stops` must outlive the object.
class PromptSource {
 public:
  // Error (exit code 4): the file cannot be read.
  PromptSource(const GenerateFlags& flags, launcher::StopSignals& stops);
  // The next one, waiting for it; nothing at the end. Errors: see StoppableLines.
  std::optional<std::string> next();
  // Whether there is a further one now.
  bool has_one();
  // Somebody types them.
  bool asks() const;
  // The flag, or standard input.
  std::string name() const;

 private:
  const GenerateFlags& flags_;
  FileDescriptor file_;
  std::optional<front::StoppableLines> lines_;  // unset: those of --prompt
  size_t used_ = 0;
};

}  // namespace hftrain::app
