// Whether a text is one YAML document, which yaml-cpp answers for nobody: YAML::Load leaves out what follows the first
// one, and YAML::LoadAll makes documents without end of a text like ", a", whose first token it never takes.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>

namespace hftrain::arguments {

// Where something follows the first document of `text`; nothing: it is all. Throws YAML::Exception.
std::optional<YAML::Mark> second_document(const std::string& text);

// Whether a line of dashes opens the document that begins at `place`. One without is no document but what the first
// cannot be followed by.
bool opens_document(const std::string& text, const YAML::Mark& place);

}  // namespace hftrain::arguments
