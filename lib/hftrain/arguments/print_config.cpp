#include "hftrain/arguments/print_config.h"

#include <algorithm>
#include <optional>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/release_history.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr size_t kOriginColumn = 48;

// A value to show and the name that it stands under.
struct Entry {
  std::string name;
  Json value;
};

// As people write it: a list that is a truth value alone, and numbers of a mapping that import/ reads.
Json as_people_write(const ParseOutcome& outcome, const Flag& flag, const std::string& name, Json value) {
  const bool one = flag.imported && value.is_array() && value.size() == 1 && flag.choice("true") != nullptr;
  if (one && (value[0] == "true" || value[0] == "false")) return value[0] == "true";
  const auto plain = outcome.plain.find(name);
  const bool mapping = plain != outcome.plain.end() && value.is_object();
  return mapping ? typed_parts(std::move(value), plain->second) : value;
}

Json typed_value(const ParseOutcome& outcome, const Flag& flag) {
  Json value = flag.slot.get(outcome.arguments);
  const auto given = outcome.mappings.find(std::string(flag.name));
  if (given == outcome.mappings.end() || !given->second.is_object() || !value.is_object()) return value;
  Json whole = given->second;
  whole.update(value, true);  // keys that this build accepts or plans are in the given one only
  return whole;
}

// A value may be a document of its own, or the text of one, such as an inline DeepSpeed configuration with
// the key of a tracker. What is taken from such a key means nothing to a run.
Json without_secrets(Json value) {
  if (value.is_array()) {
    for (Json& item : value) item = without_secrets(std::move(item));
  } else if (value.is_object()) {
    for (auto& [key, item] : value.items()) {
      const bool secret = item.is_string() && names_secret_key(key);
      item = secret ? Json(placeholder(key)) : without_secrets(std::move(item));
    }
  } else if (value.is_string() && trim(value.get_ref<const std::string&>()).starts_with('{')) {
    const std::optional<Json> document = try_parse_json(value.get_ref<const std::string&>());
    const Json masked = document ? without_secrets(*document) : Json();
    if (document && masked != *document) return dump_json(masked, -1);
  }
  return value;
}

Json shown(const Flag& flag, Json value) {
  return flag.secret && !value.is_null() ? Json(placeholder(flag.name)) : without_secrets(std::move(value));
}

// A word of a command line, or what stands behind its "=".
std::string shown_text(const std::string& text) {
  return without_secrets(Json(text)).get<std::string>();
}

// Nothing for a flag that no one gave and nothing reads.
std::vector<Entry> entries_of(const ParseOutcome& outcome, const Flag& flag) {
  if (flag.command_line_only) return {};
  if (flag.slot.get != nullptr) return {{std::string(flag.name), shown(flag, typed_value(outcome, flag))}};
  std::vector<Entry> entries;
  const std::string_view name = flag.pattern ? flag.name.substr(0, flag.name.size() - 1) : flag.name;
  for (auto given = outcome.unread.lower_bound(std::string(name));
       given != outcome.unread.end() && given->first.starts_with(name); ++given) {
    if (flag_table().find(given->first).flag != &flag) continue;
    entries.push_back(
        {given->first, as_people_write(outcome, flag, given->first, shown(flag, given->second))});
  }
  return entries;
}

std::string line(const ParseOutcome& outcome, const Entry& entry, bool with_origin) {
  std::string text = entry.name + ": " + to_yaml_of_file(entry.value);
  if (with_origin) {
    text.resize(std::max(text.size() + 1, kOriginColumn), ' ');
    std::string origin = outcome.origins.of(entry.name);
    std::replace(origin.begin(), origin.end(), '\n', ' ');
    text += "# " + origin;
  }
  return text + '\n';
}

// Read back beside hf_compat the flag would have the default of that release, were it left out.
bool has_older_default(const ParseOutcome& outcome, const std::string& name) {
  if (!outcome.arguments.interface.hf_compat) return false;
  return std::ranges::any_of(flag_histories(), [&](const FlagHistory& row) {
    return row.flag == name &&
           std::ranges::any_of(row.older, [](const OlderDefault& older) { return !older.given.is_null(); });
  });
}

std::string lines_of(const ParseOutcome& outcome, const Flag& flag, const std::string& mode) {
  std::string lines;
  for (const Entry& entry : entries_of(outcome, flag)) {
    const bool given = outcome.origins.is_given(entry.name);
    const bool says_something =
        flag.when_given || entry.value != flag.default_value() || has_older_default(outcome, entry.name);
    if (mode == "minimal" && !(given && says_something)) continue;
    // Read back it would count as given, or as said where it follows from what may be said otherwise.
    const std::string by = outcome.origins.filled_in_by(entry.name);
    const bool follows = by == "output_dir" || by == "task_name";
    if ((flag.when_given && !given) || follows) lines += "# ";
    lines += line(outcome, entry, mode == "origins");
  }
  return lines;
}

std::string environment_lines(const ParseOutcome& outcome) {
  std::string text, secrets;
  for (const auto& [name, value] : outcome.exported_environment) {
    const std::string shown = masked(name, value);
    std::string& lines = shown == value ? text : secrets;
    if (shown != value) lines += "  # not shown, and taken from the environment:";
    lines += "  " + to_yaml_of_file(name) + ": " + to_yaml_of_file(shown) + '\n';
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
    for (const Flag& flag : group.flags) lines += lines_of(outcome, flag, mode);
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
    if (joined) {
      words.push_back(word.substr(0, equals + 1) + placeholder(secret));
    } else if (match && equals != std::string::npos) {
      words.push_back(word.substr(0, equals + 1) + shown_text(word.substr(equals + 1)));
    } else {
      words.push_back(is_flag ? word : shown_text(word));
    }
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
    for (Entry& entry : entries_of(outcome, *flag)) all[entry.name] = std::move(entry.value);
  }
  return all;
}

}  // namespace hftrain::arguments
