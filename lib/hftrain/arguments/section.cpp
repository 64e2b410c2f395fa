#include "hftrain/arguments/section.h"

#include "hftrain/arguments/json_text.h"
#include "hftrain/arguments/parse.h"
#include "hftrain/arguments/yaml_values.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

bool is_yaml(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

std::optional<Section> read(const std::string& text, const std::string& origin, const std::string& name,
                            bool json, Diagnostics& problems) {
  YamlValues reader(name, problems);
  const size_t before = problems.size();
  const YAML::Node root = reader.document(text, json);
  if (problems.size() > before) return std::nullopt;
  Section section;
  section.origin = origin;
  section.has_comments = json && without_comments(text) != text;
  if (!root.IsMap()) {
    problems.push_back({.what = origin + " is not a mapping",
                        .where = name,
                        .why = "its outermost value is a list or a single value",
                        .hint = "keys with values: {\"key\": value} in JSON, key: value in YAML"});
    return std::nullopt;
  }
  PlainParts plain;
  section.values = reader.value(root, "", section.places, plain);
  if (!json) section.values = parts_meant_in_yaml(std::move(section.values), plain);
  return section;
}

// Nothing when it cannot be read, which whoever takes the value tells.
std::optional<Json> contents(const Json& given) {
  if (!given.is_string()) return std::optional<Json>(std::in_place, given);
  Diagnostics untold;
  const std::string text = trim(given.get<std::string>());
  const std::optional<Section> section =
      text.starts_with('{') ? read(text, "", "", true, untold) : read_section_file(text, untold);
  if (!section) return std::nullopt;
  return std::optional<Json>(std::in_place, section->values);
}

}  // namespace

const std::string& Section::place(const std::string& pointer) const {
  const auto found = places.find(pointer);
  return found == places.end() ? origin : found->second;
}

std::optional<Section> read_section_file(const std::string& path, Diagnostics& problems) {
  try {
    return read(read_file(path, ExitCode::kUsage), path, path, !is_yaml(path), problems);
  } catch (const Error& error) {
    problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
    return std::nullopt;
  }
}

std::optional<Section> read_section_text(const std::string& text, const std::string& flag,
                                         const ParseOutcome& outcome, Diagnostics& problems) {
  const size_t before = problems.size();
  std::optional<Section> section = read(text, outcome.origins.of(flag), "", true, problems);
  for (size_t i = before; i < problems.size(); ++i) problems[i].where = outcome.origins.describe(flag);
  return section;
}

std::optional<Section> section_of(const std::string& flag, const ParseOutcome& outcome,
                                  Diagnostics& problems) {
  const auto given = outcome.unread.find(flag);
  if (given == outcome.unread.end() || given->second.is_null()) return std::nullopt;
  const std::string& origin = outcome.origins.of(flag);
  if (given->second.is_object()) {
    const auto places = outcome.places.find(flag);
    return Section{given->second,
                   places == outcome.places.end() ? std::map<std::string, std::string>{} : places->second,
                   origin};
  }
  const std::string text = trim(given->second.get<std::string>());
  if (text.empty()) return std::nullopt;
  if (text.front() == '{') return read_section_text(text, flag, outcome, problems);
  std::optional<Section> section = read_section_file(text, problems);
  if (section || path_exists(text)) return section;
  // The place that can be mended is where the file was named.
  Diagnostic& absent = problems.back();
  absent.what += " '" + text + '\'';
  absent.where = outcome.origins.describe(flag);
  absent.hint = flag + " takes the name of a JSON file, or JSON text that starts with {";
  return section;
}

std::string belongs_in(const std::string& key, const std::vector<std::string>& sections) {
  constexpr size_t kMostSections = 3;
  if (sections.empty() || sections.size() > kMostSections) return "";
  std::vector<std::string> places;
  for (const std::string& section : sections)
    places.push_back(section.empty() ? "at the top level, in no section" : "in " + section);
  return key + " belongs " + join(places, ", or ");
}

void tell_comments(const Section& section, Diagnostics& notes) {
  if (!section.has_comments) return;
  notes.push_back({.severity = Diagnostic::Severity::kNote,
                   .what = "comments in JSON are passed over",
                   .where = place(section.origin),
                   .why = "transformers and accelerate refuse such a text",
                   .hint = ""});
}

bool same_section(const Json& one, const Json& other) {
  if (one == other) return true;
  const std::optional<Json> first = contents(one), second = contents(other);
  return first && second && *first == *second;
}

}  // namespace hftrain::arguments
