// YAML that others wrote, as JSON.
#pragma once

#include <map>
#include <string>

#include "hftrain/arguments/yaml_meaning.h"
#include "hftrain/base/exit_code.h"
#include "hftrain/base/json.h"

namespace hftrain::arguments {

// The one document of `text`. Scalars are texts as they stand ("true", "5"), and null is one that stands for nothing. What is no YAML, too deep,
// or has a key twice is an Error with `code` and `name`:line:column. `places`: where each value stands, by JSON pointers without escapes;
// `plain`: those without quotes.
Json yaml_as_json(const std::string& text, const std::string& name, ExitCode code,
                  std::map<std::string, std::string>* places = nullptr, PlainParts* plain = nullptr);

}  // namespace hftrain::arguments
