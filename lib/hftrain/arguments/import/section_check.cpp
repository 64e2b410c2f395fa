#include "hftrain/arguments/import/section_check.h"

#include <algorithm>
#include <cmath>

#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

bool spelled(const SectionKey& key, const std::string& name) {
  return key.name == name || std::find(key.aliases.begin(), key.aliases.end(), name) != key.aliases.end();
}

bool is_infinite(const Json& written) {
  if (written.is_number_float()) return std::isinf(written.get<double>());
  const std::string word = written.is_string() ? to_lower(trim(written.get<std::string>())) : "";
  return word == "inf" || word == ".inf" || word == "infinity";
}

// The value with its key's type, or what is wrong with it.
Result<Json> typed(const SectionKey& key, const Json& written) {
  if (key.type == Type::kList) {
    if (written.is_array()) return written;
    return ValueError{to_yaml(written) + " is not a list", "", ""};
  }
  const Key row[] = {{.name = "value", .type = key.type, .words = key.words, .range = key.range}};
  Json value = key.type == Type::kInt ? undisguised(written) : written;
  if (key.type == Type::kBool) value = truth_of_launchers(std::move(value));
  if (key.any_case && value.is_string()) value = to_lower(value.get<std::string>());
  Result<Json> converted = convert_mapping(row, Json{{"value", value}});
  if (auto* error = std::get_if<ValueError>(&converted)) {
    const std::string prefix = "key 'value': ";
    if (error->what.starts_with(prefix)) error->what.erase(0, prefix.size());
    return converted;
  }
  return std::get<Json>(converted)["value"];
}

bool switched_off(const Json& written) {
  if (!written.is_object()) {
    return written.is_null() || written == "null" || truth_of(written) == false;
  }
  if (written.contains("enabled")) return switched_off(written["enabled"]);
  return std::ranges::all_of(written,
                             [](const Json& part) { return part.is_object() && switched_off(part); });
}

// DeepSpeed's own defaults leave such a section off, whatever stands beside its switch.
bool leaves_switch_off(const SectionKey& key, const Json& section) {
  const auto found = section.find(key.switched_by);
  if (found == section.end() || switched_off(*found) || *found == "auto") return true;
  const std::string text = found->is_string() ? trim(found->get<std::string>()) : found->dump();
  return text == "0" || (!key.neutral.empty() && text == key.neutral);
}

bool neutral(const SectionKey& key, const Json& value) {
  if (key.automatic && value == "auto") return true;
  if (!key.switched_by.empty() && value.is_object()) return leaves_switch_off(key, value);
  if (key.type == Type::kMapping) return switched_off(value);
  if (key.type == Type::kList) return value.empty();
  if (key.type == Type::kText && key.neutral.empty()) return value == "none" || value == "null";
  return !key.neutral.empty() && value == neutral_value(key.type, key.neutral);
}

// Adds the sections that take the key, "" for the outermost: nobody is led to where it is refused.
void find_sections(std::span<const SectionKey> keys, const std::string& name, const std::string& section,
                   std::vector<std::string>& found) {
  for (const SectionKey& key : keys) {
    if (key.support.status == Support::kRefused) continue;
    if (spelled(key, name) && (found.empty() || found.back() != section)) found.push_back(section);
  }
  for (const SectionKey& key : keys) {
    if (key.support.status == Support::kRefused) continue;
    const std::string inner = (section.empty() ? "" : section + '.') + std::string(key.name);
    find_sections(key.possible == nullptr ? key.keys : key.possible(), name, inner, found);
  }
}

// "/zero_optimization/stage" as people write it.
std::string dotted(const std::string& pointer) {
  std::string text = pointer.empty() ? "" : pointer.substr(1);
  std::replace(text.begin(), text.end(), '/', '.');
  return text;
}

}  // namespace

void CheckedSection::check_mapping(const SectionKey& described, const std::string& at,
                                   const std::string& pointer) {
  const std::span<const SectionKey> keys = described.keys;
  const Json::json_pointer position(at);
  if (!section_.values.contains(position)) return;
  const Json& mapping = section_.values.at(position);
  if (!mapping.is_object())
    return problem(dotted(at) + " is not a mapping", at, "it is " + to_yaml(mapping),
                   "keys with their values");
  for (const auto& [name, written] : mapping.items()) {
    if (name.starts_with('_') || name == "comment" || written.is_null()) continue;
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [&name = name](const SectionKey& each) { return spelled(each, name); });
    const std::string here = at + '/' + name;
    if (key == keys.end()) {
      unknown(keys, name, here);
    } else if (written != "auto" || key->automatic || !described.drops_auto) {
      check_key(*key, name, written, here, pointer + '/' + std::string(key->name));
    }
  }
}

void CheckedSection::check_key(const SectionKey& key, const std::string& written_name, const Json& written,
                               const std::string& at, const std::string& pointer) {
  if (const auto first = places_.find(pointer); first != places_.end()) {
    return problem("'" + written_name + "' is given under two names", at, "first at " + first->second,
                   "keep " + std::string(key.name));
  }
  places_[pointer] = section_.place(at);
  if (key.endless && is_infinite(written)) return;
  if (key.automatic && written == "auto") return store(key, written, at, pointer);
  if (key.type == Type::kMapping) return check_section(key, written, at, pointer);
  const Result<Json> value = typed(key, written);
  if (const auto* error = std::get_if<ValueError>(&value)) {
    return problem(dotted(at) + ": " + error->what, at, "nothing else is read there",
                   error->hint.empty() ? "such a value, or leave it out" : error->hint);
  }
  store(key, std::get<Json>(value), at, pointer);
}

// Keys are those that the other program knows, also where the section as a whole has no effect here.
void CheckedSection::check_section(const SectionKey& key, const Json& written, const std::string& at,
                                   const std::string& pointer) {
  const bool acts = key.support.status == Support::kImplemented;
  const bool is_off = !acts && !written.is_object() && switched_off(written);
  if (!key.keys.empty() && acts && written.is_object()) values_[pointer] = written;
  if (!key.keys.empty() && !is_off) check_mapping(key, at, pointer);
  if (key.keys.empty() || !acts) store(key, written, at, pointer);
}

void CheckedSection::unknown(std::span<const SectionKey> keys, const std::string& name,
                             const std::string& at) {
  std::vector<std::string> known, sections;
  for (const SectionKey& key : keys) known.emplace_back(key.name);
  find_sections(whole_, name, "", sections);
  std::erase(sections, dotted(at.substr(0, at.rfind('/'))));  // of params of another type
  std::string hint = belongs_in(name, sections);
  if (hint.empty()) hint = did_you_mean(nearest_names(name, known));
  if (hint.empty()) hint = "the keys here are " + join(known, ", ");
  problem("unknown key '" + name + "'", at, name_ + " has no such key there", std::move(hint));
}

void CheckedSection::store(const SectionKey& key, const Json& value, const std::string& at,
                           const std::string& pointer) {
  if (key.support.status == Support::kImplemented) {
    values_[pointer] = value;
    return;
  }
  if (neutral(key, value)) {
    if (key.told_off) idle_.push_back(dotted(at) + " (it is off)");
    return;
  }
  if (key.support.status == Support::kAccepted) {
    (key.warned ? warned_ : idle_).push_back(dotted(at) + " (" + std::string(key.support.reason) + ')');
    return;
  }
  report_.problems.push_back(
      {.what = name_ + ": " + dotted(at) + ' ' + to_yaml(value) + " is not supported",
       .where = section_.place(at),
       .why = std::string(key.support.reason),
       .hint = key.support.instead.empty() ? "leave it out" : "use " + std::string(key.support.instead)});
}

void CheckedSection::note_idle_keys() const {
  tell(warned_, Diagnostic::Severity::kWarning);
  tell(idle_, Diagnostic::Severity::kNote);
}

void CheckedSection::tell(const std::vector<std::string>& keys, Diagnostic::Severity severity) const {
  if (keys.empty()) return;
  const bool relied_on = severity == Diagnostic::Severity::kWarning;
  report_.notes.push_back(
      {.severity = severity,
       .what = name_ + ": keys without effect here: " + join(keys, ", "),
       .where = place(section_.origin),
       .why = relied_on ? "whoever wrote them may count on what they do elsewhere" : "",
       .hint = relied_on ? "take what the words in brackets name, and leave the keys out" : ""});
}

void CheckedSection::tell_idle(const std::string& pointer, const Json& neutral, const std::string& why,
                               bool warns) {
  if (has(pointer) && !is_auto(pointer) && *find(pointer) != neutral)
    (warns ? warned_ : idle_).push_back(dotted(pointer) + " (" + why + ')');
}

const Json* CheckedSection::find(const std::string& pointer) const {
  const auto found = values_.find(pointer);
  return found == values_.end() ? nullptr : &found->second;
}

bool CheckedSection::is_auto(const std::string& pointer) const {
  const Json* value = find(pointer);
  return value != nullptr && *value == "auto";
}

const std::string& CheckedSection::place(const std::string& pointer) const {
  const auto found = places_.find(pointer);
  return found == places_.end() ? section_.origin : found->second;
}

void CheckedSection::problem(std::string what, const std::string& at, std::string why, std::string hint) {
  report_.problems.push_back({.what = name_ + ": " + std::move(what),
                              .where = section_.place(at),
                              .why = std::move(why),
                              .hint = std::move(hint)});
}

}  // namespace hftrain::arguments
