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

// Whether files may hold the tensor beside those of the table, without effect: a buffer of the family's.
bool is_ignored(const ParameterTable& table, const std::string& stored_name);

// What the modules of transformers call a parameter of the body whose files have an older name.
// peft targets those modules and writes adapters under their names, which it never translates; of others it is the name.
const std::string& name_in_memory(const ParameterSpec& spec);

// Whether the parameter of this name is of a module whose name ends so, or of one within it. As in peft the ending may begin
// within a word of the name, other than that of a module that gets an adapter.
bool lies_within(const std::string& name, const std::string& ending);

}  // namespace hftrain::architectures
