// Documents and scripts made from the flag table: docs/arguments.md, docs/compatibility.md, the
// man page and shell completions.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hftrain::arguments {

// A command of the front program and its one-line summary.
using CommandSummary = std::pair<std::string, std::string>;

// docs/arguments.md
std::string arguments_markdown();
// docs/compatibility.md: every flag of the other programs, its releases, and what becomes of it here.
std::string compatibility_markdown();
// hftrain(1), for man.
std::string man_page(std::span<const CommandSummary> commands);
// A completion script for bash, zsh or fish. Throws Error(kUsage) for another shell.
std::string completion_script(const std::string& shell, std::span<const CommandSummary> commands);

}  // namespace hftrain::arguments
