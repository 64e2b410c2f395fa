#include "hftrain/arguments/import/accelerate_document.h"

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::arguments {
namespace {

// Keys of older releases of accelerate, which it refuses today, too.
struct Gone {
  const char* key;
  const char* why;
};
constexpr Gone kGone[] = {
    {"ipex_config", "accelerate gave up Intel's extension; oneDNN is used on the CPU in any case"},
    {"tp_config", "accelerate gave it up for parallelism_config; there is no tensor parallelism here"},
    {"use_mps_device", "accelerate gave it up; there is no Apple hardware here"}};

}  // namespace

const Json* AccelerateDocument::value(const std::string& key) const {
  const auto found = file_.values.find(key);
  return found == file_.values.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> AccelerateDocument::text(const std::string& key) const {
  const Json* found = value(key);
  return found == nullptr || !found->is_string() ? std::nullopt : std::optional(found->get<std::string>());
}

std::optional<int64_t> AccelerateDocument::number(const std::string& key) {
  const std::optional<std::string> written = text(key);
  if (!written) return std::nullopt;
  if (const auto parsed = signed_number<int64_t>(*written)) return parsed;
  problem(key + ": '" + *written + "' is not a whole number", '/' + key,
          "it is a count, or the number of one", "a whole number, or leave it out");
  return std::nullopt;
}

bool AccelerateDocument::is_true(const std::string& key) {
  if (value(key) == nullptr) return false;
  const Key described{.name = key, .type = Type::kBool};
  const Result<Json> converted = convert_mapping({&described, 1}, {{key, *value(key)}});
  if (const auto* error = std::get_if<ValueError>(&converted)) {
    problem(error->what, '/' + key, "it is on or off", "true or false");
    return false;
  }
  return std::get<Json>(converted)[key] == true;
}

bool AccelerateDocument::says_something(const std::string& key) const {
  const Json* written = value(key);
  if (written == nullptr) return false;
  if (!written->is_string()) return !written->empty();
  const std::string word = to_lower(written->get<std::string>());
  return !word.empty() && word != "no" && word != "false";
}

const Json* AccelerateDocument::mapping_of(const std::string& key) {
  const Json* mapping = value(key);
  if (mapping == nullptr || mapping->is_object()) return mapping;
  problem(key + " is not a mapping", '/' + key, "it is " + to_yaml(*mapping),
          "keys with their values, or leave it out");
  return nullptr;
}

void AccelerateDocument::check_plain(const std::string& name, const Json& value, const std::string& pointer,
                                     bool several) {
  const bool nested = value.is_array() && std::any_of(value.begin(), value.end(),
                                                      [](const Json& each) { return !each.is_string(); });
  if (!value.is_object() && !nested && (several || !value.is_array())) return;
  problem(name + (value.is_object() ? ": a mapping stands here" : ": a list stands here"), pointer,
          several ? "it takes a text or a list of texts" : "it takes one value",
          "leave it out, or write the value itself");
}

void AccelerateDocument::check_known(const Json& mapping, const std::string& pointer,
                                     const std::vector<std::string>& known) {
  for (const auto& [name, value] : mapping.items()) {
    if (name.starts_with('_') || std::find(known.begin(), known.end(), name) != known.end()) continue;
    unknown(name, "an Accelerate file", pointer, nearest_names(name, known));
  }
}

void AccelerateDocument::unknown(const std::string& name, const std::string& of, const std::string& pointer,
                                 const std::vector<std::string>& nearest) {
  const auto* gone =
      std::find_if(std::begin(kGone), std::end(kGone), [&](const Gone& each) { return name == each.key; });
  std::string hint = belongs_in(name, sections_with(name));
  if (hint.empty()) hint = did_you_mean(nearest);
  problem("unknown key '" + name + "' of " + of, pointer + '/' + name,
          gone == std::end(kGone) ? "accelerate has no such key there" : gone->why,
          hint.empty() ? "leave it out" : hint);
}

void AccelerateDocument::add(const std::string& flag, const std::string& spelling, Json written,
                             const std::string& origin) {
  raw_.push_back({.flag = flag_table().find(flag).flag,
                  .spelling = spelling,
                  .written = meant_in_yaml(*flag_table().find(flag).flag, std::move(written), {""}),
                  .origin = origin,
                  .layer = kAccelerateLayer,
                  .places = {}});
}

void AccelerateDocument::idle(const std::string& key, const std::string& why) {
  notes_.push_back({.severity = Diagnostic::Severity::kWarning,
                    .what = key + " has no effect",
                    .where = place('/' + key),
                    .why = why,
                    .hint = ""});
}

void AccelerateDocument::problem(std::string what, const std::string& pointer, std::string why,
                                 std::string hint) {
  problems_.push_back(
      {.what = std::move(what), .where = place(pointer), .why = std::move(why), .hint = std::move(hint)});
}

}  // namespace hftrain::arguments
