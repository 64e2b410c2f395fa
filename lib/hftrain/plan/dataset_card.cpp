#include "hftrain/plan/dataset_card.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "hftrain/arguments/yaml_json.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"

namespace hftrain::plan {
namespace {

// Keys of a configuration that change nothing in how files are read here: types and descriptions are in the files.
constexpr std::array<std::string_view, 7> kKnownKeys = {"config_name", "data_files",  "data_dir", "default",
                                                        "version",     "description", "features"};

Error bad_card(const std::string& place, const std::string& why) {
  return Error(ExitCode::kData, "the card of the data set does not say which files it has")
      .where(place)
      .why(why)
      .hint("mend `configs` there, or name the files by --train_file and --validation_file");
}

// The block between two lines of dashes at the head of a README.md; empty without one.
std::string yaml_block(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || text.compare(begin, 3, "---") != 0) return "";
  const size_t line = begin + 3;
  if (line >= text.size() || (text[line] != '\n' && text[line] != '\r')) return "";
  for (size_t end = text.find("---", line); end != std::string::npos; end = text.find("---", end + 1)) {
    const bool starts = text[end - 1] == '\n' || text[end - 1] == '\r';
    const bool ends = end + 3 == text.size() || text[end + 3] == '\n' || text[end + 3] == '\r';
    // Blank lines in the place of what stands before it, so that lines keep their numbers.
    if (starts && ends)
      return std::string(static_cast<size_t>(
                             std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(line), '\n')),
                         '\n') +
             text.substr(line, end - line);
  }
  return "";
}

// A pattern that stays within the folder.
std::string checked(const Json& pattern, const std::string& place) {
  if (!pattern.is_string()) throw bad_card(place, "a path of data_files is no text");
  const std::string text = pattern.get<std::string>();
  const std::vector<std::string> names = split(text, '/');
  if (text.empty() || text.front() == '/' || text.find("://") != std::string::npos ||
      std::find(names.begin(), names.end(), "..") != names.end())
    throw bad_card(place, "'" + text + "' of data_files leads out of the folder");
  for (const std::string& name : names) {
    if (name != "**" && name.find("**") != std::string::npos)
      throw bad_card(place, "'" + text + "' of data_files has ** as a part of a name");
  }
  return text;
}

std::vector<std::string> patterns_of(const Json& value, const std::string& place) {
  std::vector<std::string> patterns;
  if (value.is_string()) return {checked(value, place)};
  if (!value.is_array()) throw bad_card(place, "data_files is neither a path nor a list");
  for (const Json& each : value) patterns.push_back(checked(each, place));
  return patterns;
}

// A path, a list of paths (both of training data), or a list of {split, path}.
std::vector<data::SplitPatterns> splits_of(const Json& files, const std::string& place) {
  const bool by_split = files.is_array() && std::any_of(files.begin(), files.end(),
                                                        [](const Json& each) { return each.is_object(); });
  if (!by_split) return {{"train", patterns_of(files, place)}};
  std::vector<data::SplitPatterns> splits;
  for (const Json& each : files) {
    if (!each.is_object() || each.size() != 2 || !each.contains("split") || !each.contains("path") ||
        !each["split"].is_string())
      throw bad_card(place, "an entry of data_files is not {split, path}");
    const std::string name = each["split"].get<std::string>();
    if (!data::is_split_name(name)) throw bad_card(place, "'" + name + "' is no name of a split");
    for (const data::SplitPatterns& other : splits) {
      if (other.split == name) throw bad_card(place, "data_files has the split '" + name + "' twice");
    }
    splits.push_back({name, patterns_of(each["path"], place)});
  }
  return splits;
}

DatasetConfiguration configuration_of(const Json& value, const std::string& place) {
  if (!value.is_object() || !value.contains("config_name") || !value["config_name"].is_string())
    throw bad_card(place, "an entry of configs has no config_name");
  DatasetConfiguration made{.name = value["config_name"].get<std::string>()};
  for (const auto& item : value.items()) {
    if (std::find(kKnownKeys.begin(), kKnownKeys.end(), item.key()) == kKnownKeys.end())
      throw bad_card(place, "the configuration '" + made.name + "' has the key '" + item.key() +
                                "', which changes how files are read and is not known here");
  }
  made.is_default = value.contains("default") && value["default"].is_string() &&
                    to_lower(value["default"].get<std::string>()) == "true";
  if (value.contains("data_dir") && !value["data_dir"].is_null())
    made.folder = checked(value["data_dir"], place);
  if (value.contains("data_files") && !value["data_files"].is_null())
    made.patterns = splits_of(value["data_files"], place);
  return made;
}

// The `configs` of one of the two files; null: it has none.
Json configs_of(const std::string& text, const std::string& place) {
  const Json card = arguments::yaml_as_json(text, place, ExitCode::kData);
  if (card.is_null()) return nullptr;
  if (!card.is_object()) throw bad_card(place, "the YAML there is no mapping");
  return card.value("configs", Json());
}

}  // namespace

std::vector<DatasetConfiguration> read_dataset_card(const std::string& folder) {
  std::string place = folder + "/README.md";
  Json configs = path_exists(place) ? configs_of(yaml_block(read_file(place)), place) : Json();
  if (const std::string beside = folder + "/.huggingface.yaml"; path_exists(beside)) {
    Json own = configs_of(read_file(beside), beside);
    if (!own.is_null()) {
      configs = std::move(own);
      place = beside;
    }
  }
  if (configs.is_null()) return {};
  if (!configs.is_array()) throw bad_card(place, "configs is no list");
  std::vector<DatasetConfiguration> configurations;
  for (const Json& each : configs) configurations.push_back(configuration_of(each, place));
  return configurations;
}

const DatasetConfiguration* chosen_configuration(const std::vector<DatasetConfiguration>& configurations,
                                                 const std::optional<std::string>& named,
                                                 const std::string& folder) {
  if (configurations.empty() && named.value_or("default") == "default") return nullptr;
  std::vector<std::string> names, defaults;
  const DatasetConfiguration* chosen = nullptr;
  for (const DatasetConfiguration& each : configurations) {
    names.push_back(each.name);
    const bool is_default = configurations.size() == 1 || each.name == "default" || each.is_default;
    if (is_default) defaults.push_back(each.name);
    if (named ? each.name == *named : is_default) chosen = &each;
  }
  if (chosen != nullptr && (named || defaults.size() == 1)) return chosen;
  const std::string which = names.empty() ? "it has only the configuration 'default'"
                                          : "its configurations are " + join(names, ", ");
  throw Error(ExitCode::kData, named ? "the data set has no configuration '" + *named + "'"
                                     : "the data set has several configurations")
      .where(folder)
      .why(which)
      .hint(names.empty() ? "leave --dataset_config_name out" : "--dataset_config_name " + names.front());
}

}  // namespace hftrain::plan
