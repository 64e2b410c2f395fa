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
  // As for --print_config, the configuration need not be runnable.
  words.front() = "--print_config";
  context.out << arguments::explain(flag, arguments::parse_arguments(words, context.environment));
  return ExitCode::kDone;
}

}  // namespace hftrain::app
