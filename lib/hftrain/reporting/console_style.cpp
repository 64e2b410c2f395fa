#include "hftrain/reporting/console_style.h"

#include "hftrain/base/error.h"

namespace hftrain::reporting {
namespace {

bool is_set(const Environment& environment, const char* name) {
  return !environment.get_or(name, "").empty();
}

Error unknown_word(const char* flag, const std::string& word, const char* choices) {
  return Error(ExitCode::kUsage, std::string(flag) + " does not know '" + word + "'")
      .where(flag)
      .why(std::string("it is one of ") + choices)
      .hint(std::string(flag) + " auto");
}

ProgressStyle choose_progress(const ConsoleRequest& request, bool can_redraw) {
  const std::string& word = request.progress;
  if (word != "auto" && word != "bar" && word != "plain" && word != "none") {
    throw unknown_word("--progress", word, "auto, bar, plain, none");
  }
  if (word == "none" || request.disable_tqdm || request.quiet) return ProgressStyle::kNone;
  return word != "plain" && can_redraw ? ProgressStyle::kBar : ProgressStyle::kPlain;
}

bool choose_color(const ConsoleRequest& request, bool can_redraw, const Environment& environment) {
  if (request.color == "always") return true;
  if (request.color == "never") return false;
  if (request.color != "auto") throw unknown_word("--color", request.color, "auto, always, never");
  if (is_set(environment, "FORCE_COLOR")) return true;
  return can_redraw && !is_set(environment, "NO_COLOR");
}

}  // namespace

ConsoleStyle choose_console_style(const ConsoleRequest& request, const Environment& environment) {
  const bool can_redraw = request.is_terminal && environment.get_or("TERM", "") != "dumb";
  return {choose_progress(request, can_redraw), choose_color(request, can_redraw, environment), request.width,
          request.quiet, request.threshold};
}

}  // namespace hftrain::reporting
