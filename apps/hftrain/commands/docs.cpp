// hftrain docs arguments|man: documents made from the flag table.
#include <ostream>

#include "command.h"
#include "command_summaries.h"
#include "hftrain/arguments/documentation.h"
#include "hftrain/base/error.h"

namespace hftrain::app {

ExitCode run_docs(const CommandContext& context) {
  const std::string which = context.arguments.size() == 1 ? context.arguments.front() : "";
  if (which == "arguments") {
    context.out << arguments::arguments_markdown();
  } else if (which == "man") {
    context.out << arguments::man_page(command_summaries());
  } else if (which == "--help" || which == "-h") {
    context.out << "usage: hftrain docs arguments|man\n"
                   "The page of all flags in Markdown, or the man page, on the standard output.\n";
  } else {
    throw Error(ExitCode::kUsage, "docs needs the name of one document")
        .hint("hftrain docs arguments, or docs man");
  }
  return ExitCode::kDone;
}

}  // namespace hftrain::app
