#include "command.h"

namespace hftrain::app {

// One line per command file: ExitCode run_<command>(const CommandContext&);
ExitCode run_train(const CommandContext&);
ExitCode run_plan(const CommandContext&);
ExitCode run_prepare(const CommandContext&);
ExitCode run_cache(const CommandContext&);
ExitCode run_checkpoint(const CommandContext&);
ExitCode run_devices(const CommandContext&);
ExitCode run_doctor(const CommandContext&);
ExitCode run_explain(const CommandContext&);
ExitCode run_docs(const CommandContext&);
ExitCode run_completion(const CommandContext&);
ExitCode run_sample_data(const CommandContext&);
ExitCode run_tokenizer(const CommandContext&);
ExitCode run_generate(const CommandContext&);
ExitCode run_report(const CommandContext&);
ExitCode run_fetch(const CommandContext&);
ExitCode run_search(const CommandContext&);
ExitCode run_hosted(const CommandContext&);

namespace {

constexpr Command kCommands[] = {
    {"train", "train, evaluate and predict; the default when no command is named", run_train,
     RunFlags::kAlone},
    {"plan", "resolve and print what a run would do, without doing it; the same as --dry_run", run_plan,
     RunFlags::kAlone},
    {"prepare", "tokenise and pack the data of a run into the cache", run_prepare, RunFlags::kAlone},
    {"cache", "the token cache: what lies there, and what to remove", run_cache},
    {"devices", "the GPUs, cores and memory that a run would see", run_devices},
    {"doctor", "what is installed, what is missing and what that costs", run_doctor},
    {"generate", "text from a trained model: for prompts, or in a chat", run_generate},
    {"fetch", "a model or a data set of the Hub into the local cache", run_fetch},
    {"checkpoint", "verify, inspect, merge or export a checkpoint", run_checkpoint},
    {"report", "one page of a run, or of several side by side", run_report},
    {"search", "try values of flags in many runs, and say which were best", run_search, RunFlags::kBeside},
    {"explain", "everything about one flag", run_explain, RunFlags::kBeside},
    {"docs", "print docs/arguments.md, docs/compatibility.md or the man page", run_docs},
    {"completion", "print a completion script for bash, zsh or fish", run_completion},
    {"tokenizer", "train a tokenizer, encode and decode with one", run_tokenizer},
    {"sample-data", "write seeded example data with a known loss floor", run_sample_data},
};

// What --hostfile calls on the other machines; nobody types it.
constexpr Command kHosted = {"hosted", "used by --hostfile on the other machines", run_hosted};

}  // namespace

const Command* find_command(const std::string& name) {
  for (const Command& command : kCommands) {
    if (name == command.name) return &command;
  }
  return name == kHosted.name ? &kHosted : nullptr;
}

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace hftrain::app
