// hftrain, the front program: finds the command, runs it, reports an error once.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>

#include "command.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "launcher/descriptor_limit.h"

namespace {

using hftrain::Error;
using hftrain::ExitCode;
using hftrain::app::Command;
using hftrain::app::CommandContext;

const Command* find_command(const std::string& name) {
  for (const Command& command : hftrain::app::commands()) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

Error unknown_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : hftrain::app::commands()) names.emplace_back(command.name);
  return Error(ExitCode::kUsage, "unknown command '" + name + "'")
      .why("the commands are " + hftrain::join(names, ", "))
      .hint(hftrain::did_you_mean(hftrain::nearest_names(name, names)));
}

int run(CommandContext& context) {
  std::vector<std::string>& arguments = context.arguments;
  std::string name = "train";
  if (!arguments.empty() && !arguments.front().empty() && arguments.front().front() != '-') {
    // One YAML or JSON file alone is a configuration, as in the Hugging Face example scripts.
    const std::string extension = std::filesystem::path(arguments.front()).extension().string();
    const bool is_file = extension == ".yaml" || extension == ".yml" || extension == ".json";
    if (is_file) {
      arguments.insert(arguments.begin(), "--config");
    } else {
      name = arguments.front();
      arguments.erase(arguments.begin());
    }
  }
  const Command* command = find_command(name);
  if (command == nullptr) throw unknown_command(name);
  const ExitCode code = command->run(context);
  context.out.flush();
  if (code == ExitCode::kDone && !context.out)
    throw Error(ExitCode::kDisk, "the result could not be written")
        .where("standard output")
        .why("the file or device behind it takes no more")
        .hint("free space there, or send the output somewhere else");
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  hftrain::launcher::raise_descriptor_limit();
  CommandContext context{.arguments = std::vector<std::string>(argv + 1, argv + argc),
                         .environment = hftrain::Environment::of_process(),
                         .program = std::filesystem::read_symlink("/proc/self/exe").string(),
                         .out = std::cout,
                         .err = std::cerr,
                         .out_is_terminal = ::isatty(STDOUT_FILENO) == 1,
                         .err_is_terminal = ::isatty(STDERR_FILENO) == 1};
  try {
    return run(context);
  } catch (const Error& error) {
    std::cerr << error.render() << std::endl;
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of host memory" << std::endl;
    return static_cast<int>(ExitCode::kHostMemory);
  } catch (const std::exception& error) {
    std::cerr << "error: internal: " << error.what() << std::endl;
    return static_cast<int>(ExitCode::kInternal);
  }
}
