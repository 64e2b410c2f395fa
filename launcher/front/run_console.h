// The console of a command that works for a while: its style, and notes of what was read.
#pragma once

#include <string>
#include <vector>

#include "hftrain/arguments/arguments.h"
#include "hftrain/base/error.h"
#include "hftrain/reporting/console.h"
#include "launcher/front/command_context.h"

namespace hftrain::front {

// From --progress, --color, --disable_tqdm, --quiet, --log_level and what stderr is.
reporting::ConsoleStyle console_style(const arguments::Arguments& arguments, const CommandContext& context);

void show(const std::vector<Diagnostic>& notes, reporting::Console& console);
// A notice of the launcher, which may be a warning (control/warning_notice.h).
void show_notice(const std::string& text, reporting::Console& console);

}  // namespace hftrain::front
