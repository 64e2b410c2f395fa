#include "hftrain/arguments/print_config.h"

#include <algorithm>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr size_t kOriginColumn = 48;

// The value to show, or nothing for a flag that no one gave and nothing reads.
std::optional<Json> value_of(const ParseOutcome& outcome, const Flag& flag) {
  if (flag.command_line_only) return std::nullopt;
  Json value;
  if (flag.slot.get != nullptr) {
    value = flag.slot.get(outcome.arguments);
  } else {
    const auto given = outcome.unread.find(std::string(flag.name));
    if (given == outcome.unread.end()) return std::nullopt;
    value = given->second;
  }
  if (flag.secret && !value.is_null()) value = placeholder(flag.name);
  return std::optional<Json>(std::in_place, std::move(value));
}

std::string line(const ParseOutcome& outcome, const Flag& flag, const Json& value, bool with_origin) {
  std::string text = std::string(flag.name) + ": " + to_yaml(value);
  if (with_origin) {
    text.resize(std::max(text.size() + 1, kOriginColumn), ' ');
    text += "# " + outcome.origins.of(std::string(flag.name));
  }
  return text + '\n';
}

std::string environment_lines(const ParseOutcome& outcome) {
  std::string text, secrets;
  for (const auto& [name, value] : outcome.exported_environment) {
    const std::string shown = masked(name, value);
    std::string& lines = shown == value ? text : secrets;
    if (shown != value) lines += "  # not shown, and taken from the environment:";
    lines += "  " + to_yaml(name) + ": " + to_yaml(shown) + '\n';
  }
  if (!text.empty()) text.insert(0, "env:\n");
  return text + secrets;
}

std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`*?[]{}()<>|&;#!~") == std::string::npos;
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + '\'';
}

}  // namespace

std::string print_config(const ParseOutcome& outcome, const std::string& mode) {
  std::string text;
  for (const FlagGroup& group : flag_table().groups()) {
    std::string lines;
    for (const Flag& flag : group.flags) {
      const std::optional<Json> value = value_of(outcome, flag);
      if (!value) continue;
      if (mode == "minimal" &&
          (!outcome.origins.is_given(std::string(flag.name)) || *value == flag.default_value()))
        continue;
      lines += line(outcome, flag, *value, mode == "origins");
    }
    if (lines.empty()) continue;
    if (mode != "minimal") text.append(text.empty() ? "# " : "\n# ").append(group.title).append("\n");
    text += lines;
  }
  return text + environment_lines(outcome);
}

std::vector<std::string> shown_words(std::span<const std::string> command_line) {
  std::vector<std::string> words;
  std::string secret;  // the flag that the next word belongs to
  for (const std::string& word : command_line) {
    const bool is_flag = word.starts_with("--");
    if (!is_flag && !secret.empty()) {
      words.push_back(placeholder(secret));
      continue;
    }
    const size_t equals = is_flag ? word.find('=') : std::string::npos;
    const FlagMatch match = is_flag ? flag_table().find(word.substr(2, equals - 2)) : FlagMatch{};
    secret = match && match.flag->secret ? std::string(match.flag->name) : "";
    const bool joined = !secret.empty() && equals != std::string::npos;
    words.push_back(joined ? word.substr(0, equals + 1) + placeholder(secret) : word);
  }
  return words;
}

std::string arguments_yaml(const ParseOutcome& outcome, std::span<const std::string> command_line,
                           const std::map<std::string, std::string>& facts) {
  std::vector<std::string> words;
  for (const std::string& word : shown_words(command_line)) words.push_back(quoted(word));
  std::string text = "# command line: " + join(words, " ") + '\n';
  std::replace(text.begin(), text.end() - 1, '\n', ' ');
  for (const auto& [name, value] : facts) text += "# " + name + ": " + value + '\n';
  return text + '\n' + print_config(outcome, "origins");
}

Json arguments_json(const ParseOutcome& outcome) {
  Json all = Json::object();
  for (const Flag* flag : flag_table().flags()) {
    if (const std::optional<Json> value = value_of(outcome, *flag)) all[std::string(flag->name)] = *value;
  }
  return all;
}

}  // namespace hftrain::arguments
