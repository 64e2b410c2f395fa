#include "chat/chat_cases.h"

#include <fstream>
#include <map>
#include <sstream>

#include "hftrain/base/error.h"
#include "hftrain/chat/dict.h"
#include "hftrain/chat/json_input.h"
#include "support/paths.h"

namespace hftrain::chat {
namespace {

std::string text_at(const Dict& dict, std::string_view key) {
  const Value* found = dict.find(key);
  return found == nullptr ? "" : found->as_text()->bytes;
}

std::string source_of(const Dict& one) {
  if (one.find("source") != nullptr) return text_at(one, "source");
  static std::map<std::string, std::string> read;
  std::string& source = read[text_at(one, "template")];
  if (!source.empty()) return source;
  std::stringstream text;
  text << std::ifstream(testing::source_dir() + "/tests/golden/chat/templates/" + text_at(one, "template"))
              .rdbuf();
  return source = text.str();
}

// Those of transformers, and the case's over them.
Variables variables_of(const Dict& given) {
  Variables variables = {{"messages", Value::list({})},
                         {"tools", Value(None())},
                         {"documents", Value(None())},
                         {"add_generation_prompt", Value(false)}};
  for (const auto& [name, value] : given.items()) {
    variables.emplace_back(name.as_text()->bytes, value);
  }
  return variables;
}

std::string shown(const Rendered& rendered) {
  std::string text = rendered.text + "\n-- generated:";
  for (const CharacterRange& range : rendered.generated) {
    text += " " + std::to_string(range.begin) + "-" + std::to_string(range.end);
  }
  return text;
}

std::string expected(const Dict& one) {
  Rendered rendered{text_at(one, "text"), {}};
  for (const Value& range : one.find("generated")->as_sequence()->items) {
    const auto& both = range.as_sequence()->items;
    rendered.generated.push_back({*both[0].as_integer(), *both[1].as_integer()});
  }
  return shown(rendered);
}

void compare(const Dict& one, const Dict& variables, CaseCounts& counts) {
  const bool refused = one.find("error") != nullptr;
  std::string made;
  ++counts.cases;
  counts.errors += refused ? 1 : 0;
  try {
    const ChatTemplate parsed = ChatTemplate::parse(source_of(one), "case");
    made = shown(parsed.render(variables_of(variables), time_of_cases()));
    if (!refused && made == expected(one)) return;
  } catch (const Error& error) {
    if (refused) return;
    made = error.render();
  }
  if (++counts.differences > 40) return;
  counts.first_differences += "\n=== " + source_of(one).substr(0, 400) + "\n--- expected:\n" +
                              (refused ? text_at(one, "error") : expected(one)) + "\n--- made:\n" + made;
}

}  // namespace

std::tm time_of_cases() {
  std::tm time{};
  time.tm_year = 126, time.tm_mon = 2, time.tm_mday = 7, time.tm_wday = 6, time.tm_yday = 65;
  time.tm_hour = 14, time.tm_min = 5, time.tm_sec = 9;
  return time;
}

CaseCounts compare_with_cases(const std::string& path) {
  CaseCounts counts;
  std::ifstream file(path);
  Value variables;
  for (std::string line; std::getline(file, line);) {
    const Value read = value_from_json(line, path);
    const Dict& one = *read.as_dict();
    if (const Value* given = one.find("variables")) variables = *given;
    if (one.size() > 1) compare(one, *variables.as_dict(), counts);
  }
  return counts;
}

std::string render(const std::string& source, const std::string& variables, const Limits& limits) {
  Variables given;
  const Value read = value_from_json(variables, "variables");
  for (const auto& [name, value] : read.as_dict()->items()) given.emplace_back(name.as_text()->bytes, value);
  return ChatTemplate::parse(source, "t.jinja").render(given, time_of_cases(), limits).text;
}

std::string refusal(const std::string& source, const std::string& variables, const Limits& limits) {
  try {
    return "rendered: " + render(source, variables, limits).substr(0, 200);
  } catch (const Error& error) {
    return error.render();
  }
}

}  // namespace hftrain::chat
