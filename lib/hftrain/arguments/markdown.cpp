#include <fmt/format.h>

#include "hftrain/arguments/documentation.h"
#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/option_keys.h"
#include "hftrain/arguments/rules.h"
#include "hftrain/arguments/value.h"

namespace hftrain::arguments {
namespace {

constexpr const char* kIntroduction =
    R"(# Arguments

Made by `hftrain docs arguments` from the flag table; change the table, not this page.

Every flag is a long option and, unless its row says otherwise, a key of configuration files. `-` and `_` are the
same in options. A boolean takes a value or none: `--bf16`, `--bf16 true`, `--bf16=no`; some also have a negative form `--no_…`. Its words are true, yes,
t, y, 1 and false, no, f, n, 0 in any letter case; without quotes in YAML on and off, too, and there false is the `no` or `none` of a flag that has it. A list takes one
or more values. A mapping takes JSON text, the name of a JSON file, or a mapping in YAML. Later wins: default,
environment, an Accelerate file, other `--config` files in their order, command line. Prefixes of flags are not
accepted; unknown names are errors, and so are flags that only other tasks read. `hftrain explain FLAG` says
everything about one flag.

Flags that are *accepted* do nothing here and say so once; those that are *not supported* are refused with their reason. Either may always
be given its default.

)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string meaning(const Flag& flag) {
  std::string text(flag.help);
  if (!flag.note.empty()) text += ' ' + std::string(flag.note);
  if (!flag.unit.empty()) text += fmt::format(" Unit: {}.", flag.unit);
  if (flag.range.limits()) text += fmt::format(" Range: {}.", describe(flag.range));
  for (const std::string_view alias : flag.aliases) text += fmt::format(" Also `--{}`.", alias);
  if (flag.letter != '\0') text += fmt::format(" Also `-{}`.", flag.letter);
  if (flag.negatable) text += fmt::format(" Negative form: `--no_{}`.", flag.name);
  if (flag.command_line_only) text += " No key of files.";
  const std::string status = status_sentence(flag);
  if (!status.empty()) text += " *" + status + "*";
  return escaped(text);
}

std::string group_table(const FlagGroup& group) {
  std::string text =
      fmt::format("## {}\n\nGroup `{}`.\n\n| flag | type | default | meaning |\n|---|---|---|---|\n",
                  group.title, group.name);
  for (const Flag& flag : group.flags) {
    text += fmt::format("| {} | {} | {} | {} |\n", flag.name, escaped(describe_type(flag)),
                        escaped(to_yaml(flag.default_value())), meaning(flag));
  }
  return text + '\n';
}

// Words whose status is not the flag's own.
std::string choice_tables() {
  std::string text = "## Words with a status of their own\n\n| flag | word | status |\n|---|---|---|\n";
  for (const Flag* flag : flag_table().flags()) {
    for (const Choice& choice : flag->choices) {
      const Support& support = choice.support;
      if (support.status == Support::kImplemented) continue;
      text += fmt::format("| {} | {} | {}{}{}{}{} |\n", flag->name, choice.word, describe(support.status),
                          support.reason.empty() ? "" : ": ", support.reason,
                          support.instead.empty() ? "" : "; use ", support.instead);
    }
  }
  return text + '\n';
}

std::string key_lines(std::string_view flag, std::span<const Key> keys, const std::string& prefix) {
  std::string text;
  for (const Key& key : keys) {
    const std::string name = prefix + std::string(key.name);
    text += fmt::format("| {} | {} | {}{}{} |\n", flag, name, describe(key.support.status),
                        key.support.reason.empty() ? "" : ": ", key.support.reason);
    text += key_lines(flag, key.keys, name + '.');
  }
  return text;
}

std::string key_table() {
  std::string text = "## Keys of mappings\n\n| flag | key | status |\n|---|---|---|\n";
  for (const Flag* flag : flag_table().flags()) text += key_lines(flag->name, flag->keys, "");
  for (const Choice& choice : flag_table().named("optim").choices) {
    const std::string optimizer(choice.word);
    text += key_lines("optim_args of " + optimizer, optimizer_keys(optimizer), "");
  }
  for (const Choice& choice : flag_table().named("lr_scheduler_type").choices) {
    const std::string schedule(choice.word);
    text += key_lines("lr_scheduler_kwargs of " + schedule, schedule_keys(schedule), "");
  }
  return text + '\n';
}

std::string rule_table() {
  std::string text =
      "## Checks between flags\n\nAll mistakes are reported at once, with the origin of every value.\n\n"
      "| rule | result | what |\n|---|---|---|\n";
  for (const Rule& rule : rules()) {
    const char* result = rule.severity == Diagnostic::Severity::kError     ? "error"
                         : rule.severity == Diagnostic::Severity::kWarning ? "warning"
                                                                           : "note";
    text += fmt::format("| {} | {} | {} |\n", rule.number, result, escaped(rule.what));
  }
  text += "\nWhere names and files are merged and the plan is resolved:\n\n| rule | what |\n|---|---|\n";
  for (const OtherCheck& check : other_checks())
    text += fmt::format("| {} | {} |\n", check.number, escaped(check.what));
  return text;
}

}  // namespace

std::string arguments_markdown() {
  std::string text = kIntroduction;
  for (const FlagGroup& group : flag_table().groups()) text += group_table(group);
  return text + choice_tables() + key_table() + rule_table();
}

}  // namespace hftrain::arguments
