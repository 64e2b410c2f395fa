#include "command.h"

namespace hftrain::app {

// One line per command file: ExitCode run_<command>(const CommandContext&);
ExitCode run_explain(const CommandContext&);
ExitCode run_docs(const CommandContext&);
ExitCode run_completion(const CommandContext&);

namespace {

constexpr Command kCommands[] = {
    {"explain", "everything about one flag", run_explain},
    {"docs", "print docs/arguments.md or the man page", run_docs},
    {"completion", "print a completion script for bash, zsh or fish", run_completion},
    {nullptr, nullptr, nullptr},
};

}  // namespace

std::span<const Command> commands() { return std::span(kCommands).first(std::size(kCommands) - 1); }

}  // namespace hftrain::app
