#include "command.h"

namespace hftrain::app {

// One line per command file: ExitCode run_<command>(const CommandContext&);

namespace {

constexpr Command kCommands[] = {
    {nullptr, nullptr, nullptr},
};

}  // namespace

std::span<const Command> commands() { return std::span(kCommands).first(std::size(kCommands) - 1); }

}  // namespace hftrain::app
