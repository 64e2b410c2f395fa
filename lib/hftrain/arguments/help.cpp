#include "hftrain/arguments/help.h"

#include <algorithm>
#include <regex>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/option_keys.h"
#include "hftrain/arguments/rules.h"
#include "hftrain/arguments/suggestions.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr size_t kTextColumn = 36;
constexpr size_t kWidth = 110;

// `text` from `column` on, in lines of at most kWidth; `line` is what stands before it.
std::string wrapped(std::string line, size_t column, const std::string& text) {
  std::string result;
  const auto break_line = [&] {
    result += line + '\n';
    line.clear();
  };
  if (line.size() + 2 > column) break_line();
  line.resize(column, ' ');
  size_t length = column;
  for (const std::string& word : split_words(text)) {
    if (length > column && length + 1 + word.size() > kWidth) {
      break_line();
      line.assign(column, ' ');
      length = column;
    }
    if (length > column) line += ' ';
    length += (length > column ? 1 : 0) + word.size();
    line += word;
  }
  break_line();
  return result;
}

std::string default_note(const Flag& flag) {
  const Json value = flag.default_value();
  const bool nothing =
      value.is_null() || value == false || (value.is_structured() && value.empty()) || value == "";
  return nothing ? "" : " [" + (value.is_string() ? value.get<std::string>() : to_yaml(value)) + ']';
}

std::string summary(const Flag& flag) {
  std::string text(flag.help);
  if (!flag.unit.empty()) text += " (" + std::string(flag.unit) + ')';
  text += default_note(flag);
  const std::string status = status_sentence(flag);
  return status.empty() ? text : text + " — " + status;
}

std::string help_line(const Flag& flag) {
  std::string left = "  ";
  if (flag.letter != '\0') left += '-' + std::string(1, flag.letter) + ", ";
  left += option(flag);
  const std::string word = value_word(flag);
  if (!word.empty()) left += ' ' + word;
  return wrapped(left, kTextColumn, summary(flag));
}

std::string row(const std::string& name, const std::string& text) {
  return text.empty() ? "" : wrapped("  " + name, 14, text);
}

std::string spellings(const Flag& flag) {
  std::vector<std::string> names;
  for (const std::string_view alias : flag.aliases) names.push_back("--" + std::string(alias));
  if (flag.letter != '\0') names.push_back('-' + std::string(1, flag.letter));
  if (flag.negatable) names.push_back("--no_" + std::string(flag.name));
  return join(names, ", ");
}

std::string choice_rows(const Flag& flag) {
  std::string text;
  for (const Choice& choice : flag.choices) {
    const Support& support = choice.support;
    // What is left of a flag that is refused is its default.
    const bool refused =
        flag.support.status == Support::kRefused && !means_default(flag, std::string(choice.word));
    std::string words = describe(refused ? Support::kRefused : support.status);
    if (!support.reason.empty()) words += ": " + std::string(support.reason);
    if (!support.instead.empty()) words += "; use " + std::string(support.instead);
    text += wrapped("    " + std::string(choice.word), kTextColumn, words);
  }
  return text;
}

std::string key_rows(std::span<const Key> keys, size_t indent) {
  std::string text;
  for (const Key& key : keys) {
    std::string words = describe(key.support.status);
    if (!key.support.reason.empty()) words += ": " + std::string(key.support.reason);
    text += wrapped(std::string(indent, ' ') + std::string(key.name), kTextColumn, words);
    text += key_rows(key.keys, indent + 2);
  }
  return text;
}

std::string old_names(const Flag& flag) {
  std::vector<std::string> names;
  for (const Flag* each : flag_table().flags()) {
    if (each->replaced_by.flag == flag.name) names.push_back(option(*each));
  }
  return join(names, ", ");
}

// A rule's sentence speaks of values that are known only in a run: "warmup_steps {warmup_steps} is cut".
std::string without_values(std::string_view sentence) {
  static const std::regex kValue("\\s*'?[{][a-z_0-9]+[}]'?");
  return std::regex_replace(std::string(sentence), kValue, "");
}

std::string rule_rows(const Flag& flag) {
  std::string text;
  const auto add_row = [&](const auto& check) {
    if (std::find(check.flags.begin(), check.flags.end(), flag.name) == check.flags.end()) return;
    text += wrapped("    rule " + std::string(check.number), 14, without_values(check.what));
  };
  for (const OtherCheck& check : other_checks()) add_row(check);
  for (const Rule& rule : rules()) add_row(rule);
  return text;
}

const Flag& flag_of(const std::string& spelling) {
  const std::string name = spelling.substr(std::min(spelling.find_first_not_of('-'), spelling.size()));
  if (const FlagMatch match = flag_table().find(name)) return *match.flag;
  const Flag* short_one = name.size() == 1 ? flag_table().find_letter(name[0]) : nullptr;
  if (short_one != nullptr) return *short_one;
  throw Error(ExitCode::kUsage, "unknown flag " + spelling)
      .where("command line")
      .why("there is no flag of that name")
      .hint(hint_for_unknown(name, "--"));
}

}  // namespace

std::string help_text(bool all) {
  std::string text;
  for (const FlagGroup& group : flag_table().groups()) {
    std::string lines;
    for (const Flag& flag : group.flags) {
      if (all || flag.common) lines += help_line(flag);
    }
    if (lines.empty()) continue;
    if (!text.empty()) text += '\n';
    text.append(group.title).append(":\n").append(lines);
  }
  return text;
}

std::string explain(const std::string& spelling, const ParseOutcome& outcome) {
  const Flag& flag = flag_of(spelling);
  const std::string name(flag.name);
  std::string text = option(flag) + '\n';
  text += row("meaning", std::string(flag.help) + (flag.note.empty() ? "" : " " + std::string(flag.note)));
  text += row("type", describe_type(flag) + (flag.slot.optional ? ", may be unset" : ""));
  text += row("default", to_yaml(flag.default_value()));
  text += row("unit", std::string(flag.unit));
  text += row("range", describe(flag.range));
  text += row("also", spellings(flag));
  text += row("old names", old_names(flag));
  text += row("place", flag.command_line_only ? "the command line alone, no configuration file" : "");
  const std::string status = status_sentence(flag);
  text += row("status", status.empty() ? "implemented" : status);
  if (flag.slot.get != nullptr) text += row("value", to_yaml(flag.slot.get(outcome.arguments)));
  if (!flag.command_line_only) text += row("origin", outcome.origins.of(name));
  if (flag.is_choice()) text += "  words\n" + choice_rows(flag);
  std::span<const Key> keys = flag.keys;
  if (flag.name == "lr_scheduler_kwargs") keys = schedule_keys(outcome.arguments.schedule.lr_scheduler_type);
  if (flag.name == "optim_args") keys = optimizer_keys(outcome.arguments.optimizer.optim);
  if (!keys.empty()) text += "  keys\n" + key_rows(keys, 4);
  const std::string checks = rule_rows(flag);
  if (!checks.empty()) text += "  checks\n" + checks;
  return text;
}

}  // namespace hftrain::arguments
