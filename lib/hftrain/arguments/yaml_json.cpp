#include "hftrain/arguments/yaml_json.h"

#include <utility>

#include "hftrain/arguments/yaml_values.h"
#include "hftrain/base/error.h"

namespace hftrain::arguments {

Json yaml_as_json(const std::string& text, const std::string& name, ExitCode code,
                  std::map<std::string, std::string>* places) {
  Diagnostics problems;
  YamlValues values(name, problems);
  std::map<std::string, std::string> found;
  const YAML::Node node = values.document(text, false);
  Json json;
  if (problems.empty() && node.IsDefined()) json = values.value(node, "", found);
  if (!problems.empty()) throw Error(code, problems);
  if (places != nullptr) *places = std::move(found);
  return json;
}

}  // namespace hftrain::arguments
