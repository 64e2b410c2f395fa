// hftrain completion bash|zsh|fish: a script that the shell reads.
#include <ostream>
#include <utility>

#include "command.h"
#include "command_options.h"
#include "hftrain/arguments/documentation.h"
#include "hftrain/base/text.h"

namespace hftrain::app {
namespace {

using arguments::CompletedCommand;
using arguments::CompletedOption;

CompletedOption completed(const Declared::Option& option) {
  const bool words = option.kind.find('|') != std::string::npos;
  return {option.name, option.help, words ? split(option.kind, '|') : std::vector<std::string>(),
          !option.kind.empty()};
}

std::vector<CompletedOption> completed(const Declared& declared) {
  std::vector<CompletedOption> options;
  for (const Declared::Option& option : declared.options) options.push_back(completed(option));
  options.push_back({"--help", "What the command takes.", {}, false});
  return options;
}

// Of those that read flags of runs as well, and declare nothing.
std::vector<CompletedOption> beside_run_flags(const std::string& command) {
  if (command == "search") return {{"--search", "YAML file that says what to try.", {}, true}};
  if (command == "explain") return {{"FLAG", "", arguments::offered_flag_names(), true}};
  return {};
}

// A command, and behind it each of its actions.
std::vector<CompletedCommand> completed(const Command& command, const CommandContext& context) {
  CompletedCommand whole{.name = command.name, .summary = command.summary};
  whole.takes_run_flags = command.run_flags != RunFlags::kNone;
  if (whole.takes_run_flags) {
    whole.options = beside_run_flags(command.name);
    return {whole};
  }
  const Declared declared = declared_by(command, context, {""});
  whole.actions = declared.actions;
  whole.options = completed(declared);
  std::vector<CompletedCommand> all = {std::move(whole)};
  for (const std::string& action : declared.actions)
    all.push_back({.name = std::string(command.name) + ' ' + action,
                   .options = completed(declared_by(command, context, {action}))});
  return all;
}

std::vector<CompletedCommand> completed_commands(const CommandContext& context) {
  std::vector<CompletedCommand> all;
  for (const Command& command : commands()) {
    for (CompletedCommand& each : completed(command, context)) all.push_back(std::move(each));
  }
  return all;
}

}  // namespace

ExitCode run_completion(const CommandContext& context) {
  std::string shell;
  CommandOptions options(
      "hftrain completion", "Print a completion script for a shell",
      "bash and zsh: source <(hftrain completion bash); fish: hftrain completion fish | source");
  options.text("SHELL", shell, "bash|zsh|fish", "bash, zsh or fish", CommandOptions::Need::kRequired);
  if (!options.read(context.arguments, context)) return ExitCode::kDone;
  context.out << arguments::completion_script(shell, completed_commands(context));
  return ExitCode::kDone;
}

}  // namespace hftrain::app
