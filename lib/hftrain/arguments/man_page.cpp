#include <fmt/format.h>

#include "hftrain/arguments/documentation.h"
#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/value.h"

namespace hftrain::arguments {
namespace {

// Text as groff takes it: backslashes and hyphens escaped, no line that starts with a control character.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  if (!result.empty() && (result.front() == '.' || result.front() == '\'')) result.insert(0, "\\&");
  return result;
}

std::string entry(const Flag& flag) {
  std::string text = ".TP\n.B ";
  if (flag.letter != '\0') text += fmt::format("\\-{}, ", flag.letter);
  text += roff(option(flag));
  if (const std::string word = value_word(flag); !word.empty()) text += " \\fI" + roff(word) + "\\fR";
  text += '\n' + roff(flag.help);
  if (!flag.note.empty()) text += ' ' + roff(flag.note);
  if (!flag.unit.empty()) text += roff(fmt::format(" Unit: {}.", flag.unit));
  const Json value = flag.default_value();
  if (!value.is_null()) text += roff(fmt::format(" Default: {}.", to_yaml(value)));
  if (const std::string status = status_sentence(flag); !status.empty())
    text += " \\fI" + roff(status) + "\\fR";
  return text + '\n';
}

}  // namespace

std::string man_page(std::span<const CommandSummary> commands) {
  std::string text =
      ".TH HFTRAIN 1\n.SH NAME\nhftrain \\- train Hugging Face models from the shell without Python\n"
      ".SH SYNOPSIS\n.B hftrain\n[\\fIcommand\\fR] [\\-\\-config \\fIfile\\fR] [\\fIflags\\fR]\n.SH "
      "COMMANDS\n";
  for (const auto& [name, summary] : commands) {
    text += ".TP\n.B " + roff(name) + '\n' + roff(summary) + '\n';
  }
  for (const FlagGroup& group : flag_table().groups()) {
    text += fmt::format(".SH \"{}\"\n", roff(group.title));
    for (const Flag& flag : group.flags) text += entry(flag);
  }
  text +=
      ".SH \"EXIT STATUS\"\n0 done; 1 internal error; 2 usage or configuration; 3 environment; 4 data or "
      "model files; "
      "5 device memory; 6 host memory; 7 disk; 8 diverged; 9 a worker was lost; 10 terminated before a "
      "checkpoint "
      "could be committed; 130 interrupted, state saved; 143 terminated, state saved.\n";
  return text;
}

}  // namespace hftrain::arguments
