// YAML nodes as Json values with their places; shared by configuration files and sections, and included by
// their sources only.
#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>

#include "hftrain/arguments/raw_argument.h"
#include "hftrain/base/json.h"

namespace hftrain::arguments {

// Reads one document and its nodes. Mistakes are appended to `problems`.
class YamlValues {
 public:
  // `name` stands before line and column in places: a path. Empty for text without lines worth naming.
  YamlValues(std::string name, Diagnostics& problems) : name_(std::move(name)), problems_(problems) {}

  // The one document of `text`; undefined after a mistake. JSON is made YAML by json_text.h.
  YAML::Node document(std::string text, bool json);
  // The value below `pointer`; its places are added to `places`, and what stands without quotes to `plain`.
  Json value(const YAML::Node& node, const std::string& pointer, std::map<std::string, std::string>& places,
             PlainParts& plain, int depth = 0);
  // Of a scalar. Escapes of YAML can make bytes that are no text of what is: that is a mistake.
  std::string text_of(const YAML::Node& scalar);
  std::string place_of(const YAML::Node& node) const { return place_at(node.Mark()); }
  void problem(std::string what, std::string where, std::string why, std::string hint);

 private:
  // Bytes that are no text are a mistake: what is read from them could not be written into a plan.
  bool is_readable(const std::string& text);
  // Whether the scalar's text says of which type it is, or its tag does: without quotes. Another tag than those of YAML's own
  // scalars is a mistake.
  bool is_resolved(const YAML::Node& scalar);
  // A list or a mapping with a tag that makes something else of it is a mistake.
  void check_tag_of_parts(const YAML::Node& node);
  // Makes YAML of it; half a character is a mistake.
  bool take_json(std::string& text);
  std::string place_at(const YAML::Mark& mark) const;
  // Where a key stands that is given again.
  std::string first_of_two(const YAML::Mark& first, const YAML::Node& second) const;

  std::string name_;
  Diagnostics& problems_;
  int values_ = 0;
  bool too_large_ = false;
};

}  // namespace hftrain::arguments
