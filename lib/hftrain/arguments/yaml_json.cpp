#include "hftrain/arguments/yaml_json.h"

#include <utility>

#include "hftrain/arguments/yaml_values.h"
#include "hftrain/base/error.h"

namespace hftrain::arguments {

Json yaml_as_json(const std::string& text, const std::string& name, ExitCode code,
                  std::map<std::string, std::string>* places, PlainParts* plain) {
  Diagnostics problems;
  YamlValues values(name, problems);
  std::map<std::string, std::string> found;
  PlainParts unquoted;
  const YAML::Node node = values.document(text, false);
  Json json;
  if (problems.empty() && node.IsDefined()) json = values.value(node, "", found, unquoted);
  if (!problems.empty()) throw Error(code, problems);
  if (places != nullptr) *places = std::move(found);
  if (plain != nullptr) *plain = std::move(unquoted);
  return json;
}

}  // namespace hftrain::arguments
