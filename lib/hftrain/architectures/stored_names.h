// The names under which files of any release or head hold a parameter.
#pragma once

#include <string>
#include <vector>

namespace hftrain::architectures {

struct ParameterSpec;
struct ParameterTable;

// Names under which a file may hold the tensor `name` of the table, the likeliest first: with the body's prefix, with that
// of another head of the family or with none, each also as the first releases wrote norms.
std::vector<std::string> stored_names(const ParameterTable& table, const std::string& name);
// Of a parameter under all its names, with those of the outputs that are tied to it.
std::vector<std::string> stored_names(const ParameterTable& table, const ParameterSpec& spec);

}  // namespace hftrain::architectures
