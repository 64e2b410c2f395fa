#include "hftrain/data/class_names.h"

#include <algorithm>
#include <set>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/base/json_member.h"

namespace hftrain::data {
namespace {

// {"names": […], "_type": "ClassLabel"}, or a list of such: [{…}], {"feature": {…}, "_type": "List"}.
std::vector<std::string> names_of_feature(const Json& feature) {
  if (feature.is_array())
    return feature.size() == 1 ? names_of_feature(feature[0]) : std::vector<std::string>();
  if (feature.contains("feature")) return names_of_feature(feature["feature"]);
  const Json names = json_member(feature, "names");
  if (json_member(feature, "_type") != "ClassLabel" || !names.is_array()) return {};
  std::vector<std::string> found;
  for (const Json& name : names) {
    if (!name.is_string() || name.get<std::string>().empty()) return {};
    found.push_back(name.get<std::string>());
  }
  const std::set<std::string> different(found.begin(), found.end());
  return different.size() == found.size() ? found : std::vector<std::string>();
}

}  // namespace

std::map<std::string, std::vector<std::string>> class_names_of(std::string_view features) {
  std::map<std::string, std::vector<std::string>> names;
  if (features.empty()) return names;
  Json columns;
  try {
    columns = json_member(json_member(parse_json(features, "huggingface"), "info"), "features");
  } catch (const Error&) {
    return names;
  }
  if (!columns.is_object()) return names;
  for (const auto& [column, feature] : columns.items()) {
    std::vector<std::string> found = names_of_feature(feature);
    if (!found.empty()) names[column] = std::move(found);
  }
  return names;
}

}  // namespace hftrain::data
