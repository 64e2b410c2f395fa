// hftrain explain FLAG [--config FILE] [FLAGS]: everything about one flag, with its value under the given
// arguments.
#include "hftrain/arguments/help.h"

#include <ostream>

#include "command.h"
#include "command_options.h"
#include "hftrain/arguments/parse.h"
#include "hftrain/base/error.h"

namespace hftrain::app {

namespace {

constexpr const char* kExplainUsage =
    "usage: hftrain explain FLAG [--config FILE] [FLAGS]\n"
    "Meaning, type, default, status and checks of FLAG; with FLAGS also its value and origin.\n";

// Behind FLAG stand flags.
void check_rest(const std::vector<std::string>& words) {
  if (words.size() < 2 || words[1].starts_with('-')) return;
  throw Error(ExitCode::kUsage, "unexpected '" + words[1] + '\'')
      .where("command line")
      .why("explain tells of one flag, and values follow a flag")
      .hint("hftrain explain " + words.front() + ", and the other one by itself");
}

}  // namespace

ExitCode run_explain(const CommandContext& context) {
  std::vector<std::string> words = context.arguments;
  if (words.empty())
    throw Error(ExitCode::kUsage, "explain needs the name of a flag")
        .where("command line")
        .why("it tells everything about one of them")
        .hint("hftrain explain learning_rate");
  const std::string flag = words.front();
  if (answered({flag}, kExplainUsage, context)) return ExitCode::kDone;
  check_rest(words);
  // As for --print_config, the configuration need not be runnable.
  words.front() = "--print_config";
  const arguments::ParseOutcome parsed = arguments::parse_arguments(words, context.environment);
  if (parsed.actions.json) {
    throw Error(ExitCode::kUsage, "explain has no --json")
        .where("command line")
        .why("it prints a text for people")
        .hint("leave it out; `hftrain docs arguments` has every flag in tables");
  }
  context.out << arguments::explain(flag, parsed);
  return ExitCode::kDone;
}

}  // namespace hftrain::app
