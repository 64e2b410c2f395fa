#include "launcher/front/run_console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "hftrain/base/log_level.h"
#include "launcher/control/warning_notice.h"

namespace hftrain::front {
namespace {

int terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

reporting::ConsoleStyle console_style(const arguments::Arguments& arguments, const CommandContext& context) {
  return reporting::choose_console_style(
      {.progress = arguments.interface.progress,
       .color = arguments.interface.color,
       .disable_tqdm = arguments.logging.disable_tqdm.value_or(false),
       .is_terminal = context.err_is_terminal,
       .width = terminal_width(),
       .quiet = arguments.interface.quiet,
       .threshold = wanted_log_level(arguments.logging.log_level, context.environment, LogLevel::kInfo)},
      context.environment);
}

void show(const std::vector<Diagnostic>& notes, reporting::Console& console) {
  for (const Diagnostic& note : notes) {
    const bool is_note = note.severity == Diagnostic::Severity::kNote;
    console.message(is_note ? LogLevel::kInfo : LogLevel::kWarning,
                    (is_note ? "note: " : "") + note.render());
  }
}

void show_notice(const std::string& text, reporting::Console& console) {
  console.message(launcher::is_warning(text) ? LogLevel::kWarning : LogLevel::kInfo,
                  launcher::without_warning(text));
}

}  // namespace hftrain::front
