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

// An option or, without dashes, a word of a command.
struct CompletedOption {
  std::string name;
  std::string help;
  std::vector<std::string> words;  // that a value may be; empty: files or anything
  bool takes_value = true;
};
// What may follow a command: one of its actions, or flags.
struct CompletedCommand {
  std::string name;  // "fetch", "tokenizer train"
  std::string summary;
  std::vector<std::string> actions;
  bool takes_run_flags = false;  // those of the flag table, beside `options`
  std::vector<CompletedOption> options;
};
// The names of flags that completions offer.
std::vector<std::string> offered_flag_names();
// A completion script for bash, zsh or fish. Throws Error(kUsage) for another shell.
std::string completion_script(const std::string& shell, std::span<const CompletedCommand> commands);

}  // namespace hftrain::arguments
