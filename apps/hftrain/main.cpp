// hftrain, the front program: finds the command, runs it, reports an error once.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "command.h"
#include "hftrain/arguments/print_config.h"
#include "hftrain/base/caught_error.h"
#include "hftrain/base/error.h"
#include "hftrain/base/fault_handlers.h"
#include "hftrain/base/suggest.h"
#include "hftrain/base/text.h"
#include "launcher/process/descriptor_limit.h"
#include "launcher/process/terminal_stop.h"
#include "python_words.h"

namespace {

using hftrain::Error;
using hftrain::ExitCode;
using hftrain::app::Command;
using hftrain::app::CommandContext;

// What people call the commands.
constexpr hftrain::Synonym kSynonyms[] = {
    {"run", "train"},
    {"fit", "train"},
    {"finetune", "train"},
    {"fine_tune", "train"},
    {"sft", "train"},
    {"pretrain", "train"},
    {"launch", "train"},
    {"eval", "train"},
    {"evaluate", "train"},
    {"predict", "train"},
    {"resume", "train"},
    {"dry_run", "plan"},
    {"preprocess", "prepare"},
    {"tokenize", "tokenizer", "prepare"},
    {"data", "sample-data", "prepare"},
    {"gpus", "devices"},
    {"info", "doctor", "devices"},
    {"env", "doctor"},
    {"check", "doctor"},
    {"test", "doctor"},
    {"verify", "checkpoint"},
    {"inspect", "checkpoint"},
    {"export", "checkpoint"},
    {"convert", "checkpoint"},
    {"encode", "tokenizer"},
    {"decode", "tokenizer"},
    {"sweep", "search"},
    {"tune", "search"},
    {"hpo", "search"},
    {"hyperparameter_search", "search"},
    {"dashboard", "report"},
    {"plot", "report"},
    {"man", "docs"},
    {"arguments", "docs"},
    {"flag", "explain"},
};

Error unknown_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : hftrain::app::commands()) names.emplace_back(command.name);
  std::string hint = hftrain::did_you_mean(hftrain::suggest_names(name, names, kSynonyms));
  if (name == "help" || name == "version") hint = "hftrain --" + name;
  const std::string instead = hftrain::app::instead_of_python(name);
  if (!instead.empty()) hint = instead;
  return Error(ExitCode::kUsage, "unknown command '" + name + "'")
      .where("command line")
      .why("the commands are " + hftrain::join(names, ", "))
      .hint(hint.empty() ? "`hftrain --help` says what each does" : std::move(hint));
}

bool begins_with_a_word(const std::vector<std::string>& arguments) {
  return !arguments.empty() && !arguments.front().empty() && arguments.front().front() != '-';
}

// One YAML or JSON file alone is a configuration, as in the Hugging Face example scripts.
bool names_configuration(const std::string& word) {
  const std::string extension = std::filesystem::path(word).extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

int run(CommandContext& context) {
  std::vector<std::string>& arguments = context.arguments;
  std::string name = "train";
  if (begins_with_a_word(arguments) && !names_configuration(arguments.front())) {
    name = arguments.front();
    arguments.erase(arguments.begin());
  }
  const Command* command = hftrain::app::find_command(name);
  if (command == nullptr) throw unknown_command(name);
  if (command->run_flags == hftrain::app::RunFlags::kAlone && begins_with_a_word(arguments) &&
      names_configuration(arguments.front()))
    arguments.insert(arguments.begin(), "--config");
  const ExitCode code = command->run(context);
  context.out.flush();
  if (code == ExitCode::kDone && !context.out)
    throw Error(ExitCode::kDisk, "the result could not be written")
        .where("standard output")
        .why("the file or device behind it takes no more")
        .hint("free space there, or send the output somewhere else");
  return static_cast<int>(code);
}

// A number that is free would be given to the next file that is opened, and text would be read from it or written to it.
void open_missing_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      ::open("/dev/null", O_RDWR);  // the lowest that is free
  }
}

// Every user of a machine sees argument lists: a token does not stay in this one.
void hide_secrets(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::vector<std::string> shown = hftrain::arguments::shown_words(words);
  for (size_t i = 0; i < words.size() && i < shown.size(); ++i) {
    if (words[i] != shown[i]) std::fill_n(argv[i + 1], words[i].size(), '*');
  }
}

void end_by(int signal) {
  ::_exit(128 + signal);
}

// Programs that are started have none of it (launcher/process/child_process.cpp).
void arrange_signals() {
  // Writing beyond the limit on the size of files then says what is wrong.
  ::signal(SIGXFSZ, SIG_IGN);
  // A parent that ignores this one hands that on, and nobody would ever hear how a worker ended.
  ::signal(SIGCHLD, SIG_DFL);
  // The first process of a container is ended by no signal that it does not take itself.
  if (::getpid() == 1) {
    for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, end_by);
  }
  hftrain::launcher::install_terminal_stop();
}

}  // namespace

int main(int argc, char** argv) {
  open_missing_standard_streams();
  arrange_signals();
  hftrain::install_crash_report();
  std::ios::sync_with_stdio(false);
  hftrain::launcher::raise_descriptor_limit();
  try {
    CommandContext context{.arguments = std::vector<std::string>(argv + 1, argv + argc),
                           .environment = hftrain::Environment::of_process(),
                           .program = std::filesystem::read_symlink("/proc/self/exe").string(),
                           .out = std::cout,
                           .err = std::cerr,
                           .out_is_terminal = ::isatty(STDOUT_FILENO) == 1,
                           .err_is_terminal = ::isatty(STDERR_FILENO) == 1};
    hide_secrets(argc, argv);
    return run(context);
  } catch (...) {
    const Error error = hftrain::error_of(std::current_exception());
    std::cerr << error.render() << std::endl;
    return static_cast<int>(error.code());
  }
}
