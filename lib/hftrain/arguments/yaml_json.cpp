#include "hftrain/arguments/yaml_json.h"

#include "hftrain/arguments/yaml_values.h"
#include "hftrain/base/error.h"

namespace hftrain::arguments {

Json yaml_as_json(const std::string& text, const std::string& name, ExitCode code) {
  Diagnostics problems;
  YamlValues values(name, problems);
  std::map<std::string, std::string> places;
  const YAML::Node node = values.document(text, false);
  Json json;
  if (problems.empty() && node.IsDefined()) json = values.value(node, "", places);
  if (!problems.empty()) throw Error(code, problems);
  return json;
}

}  // namespace hftrain::arguments
