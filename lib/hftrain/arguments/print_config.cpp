#include "hftrain/arguments/print_config.h"

#include <algorithm>
#include <cctype>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr size_t kOriginColumn = 48;

std::string upper(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// The value to show, or nothing for a flag that no one gave and nothing reads.
std::optional<Json> value_of(const ParseOutcome& outcome, const Flag& flag) {
  if (flag.command_line_only) return std::nullopt;
  if (flag.slot.get != nullptr) return flag.slot.get(outcome.arguments);
  const auto given = outcome.unread.find(std::string(flag.name));
  if (given == outcome.unread.end()) return std::nullopt;
  if (flag.secret && !given->second.is_null()) return Json('<' + upper(flag.name) + '>');
  return std::optional<Json>(std::in_place, given->second);
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
  if (outcome.exported_environment.empty()) return "";
  std::string text = "env:\n";
  for (const auto& [name, value] : outcome.exported_environment) {
    text += "  " + to_yaml(name) + ": " + to_yaml(value) + '\n';
  }
  return text;
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

std::string arguments_yaml(const ParseOutcome& outcome, std::span<const std::string> command_line,
                           const std::map<std::string, std::string>& facts) {
  std::vector<std::string> words;
  for (const std::string& word : command_line) words.push_back(quoted(word));
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
