// hftrain docs arguments|compatibility|man: documents made from the flag table.
#include <ostream>

#include "command.h"
#include "command_options.h"
#include "command_summaries.h"
#include "hftrain/arguments/documentation.h"
#include "hftrain/base/error.h"

namespace hftrain::app {

ExitCode run_docs(const CommandContext& context) {
  std::string which;
  CommandOptions options("hftrain docs",
                         "Print the page of all flags or of compatibility in Markdown, or the man page");
  options.text("WHICH", which, "arguments|compatibility|man", "arguments, compatibility or man",
               CommandOptions::Need::kRequired);
  if (!options.read(context.arguments, context)) return ExitCode::kDone;
  if (which == "arguments") {
    context.out << arguments::arguments_markdown();
  } else if (which == "compatibility") {
    context.out << arguments::compatibility_markdown();
  } else if (which == "man") {
    context.out << arguments::man_page(command_summaries());
  } else {
    throw Error(ExitCode::kUsage, "there is no document '" + which + '\'')
        .where("command line")
        .why("the documents are arguments, compatibility and man")
        .hint("hftrain docs arguments, docs compatibility or docs man");
  }
  return ExitCode::kDone;
}

}  // namespace hftrain::app
