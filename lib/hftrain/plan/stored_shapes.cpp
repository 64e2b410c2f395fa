#include "hftrain/plan/stored_shapes.h"

#include <algorithm>

#include "hftrain/architectures/stored_names.h"
#include "hftrain/base/text.h"

namespace hftrain::plan {
namespace {

using architectures::ParameterSpec;
using architectures::ParameterTable;

// Under the first of these names that the files know.
StoredShapes::const_iterator find_under(const std::vector<std::string>& names, const StoredShapes& stored) {
  for (const std::string& name : names) {
    if (const auto found = stored.find(name); found != stored.end()) return found;
  }
  return stored.end();
}

// Once under its own names, and once for each output that is tied to it.
std::vector<StoredShapes::const_iterator> copies_of(const ParameterSpec& spec, const ParameterTable& table,
                                                    const StoredShapes& stored) {
  std::vector<std::string> own = architectures::stored_names(table, spec.name);
  for (const std::string& other : spec.other_names) {
    const std::vector<std::string> more = architectures::stored_names(table, other);
    own.insert(own.end(), more.begin(), more.end());
  }
  std::vector<StoredShapes::const_iterator> copies = {find_under(own, stored)};
  for (const architectures::TiedParameter& tied : table.tied) {
    if (tied.parameter == spec.name)
      copies.push_back(find_under(architectures::stored_names(table, tied.alias), stored));
  }
  std::erase(copies, stored.end());
  return copies;
}

}  // namespace

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> dims;
  for (const int64_t dim : shape) dims.push_back(std::to_string(dim));
  return '[' + join(dims, ", ") + ']';
}

std::optional<size_t> differing_dim(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  if (a.size() != b.size()) return std::nullopt;
  std::optional<size_t> found;
  for (size_t dim = 0; dim < a.size(); ++dim) {
    if (a[dim] == b[dim]) continue;
    if (found) return std::nullopt;
    found = dim;
  }
  return found;
}

const std::vector<int64_t>& shape_in_files(const ParameterSpec& spec,
                                           const std::vector<GrownParameter>& grown) {
  for (const GrownParameter& each : grown) {
    if (each.name == spec.name) return each.shape_before;
  }
  return spec.shape;
}

Error wrong_shape(const std::string& name, const std::string& path, const std::vector<int64_t>& wanted,
                  const std::vector<int64_t>& stored, bool way_out) {
  return Error(ExitCode::kData, "'" + name + "' has the wrong shape")
      .where(path)
      .why("config.json asks for " + shape_text(wanted) + ", the file holds " + shape_text(stored))
      .hint(way_out ? "--ignore_mismatched_sizes starts it from random numbers"
                    : "a config and weights that belong together");
}

std::optional<Error> first_wrong_shape(const ParameterTable& table, const std::string& folder,
                                       const StoredShapes& stored, const std::vector<GrownParameter>& grown) {
  for (const ParameterSpec& spec : table.parameters) {
    const std::vector<int64_t>& wanted = shape_in_files(spec, grown);
    for (const auto& copy : copies_of(spec, table, stored)) {
      const auto& [name, found] = *copy;
      if (found.shape != wanted)
        return wrong_shape(name, folder + '/' + found.file, wanted, found.shape, /*way_out=*/true);
    }
  }
  return std::nullopt;
}

}  // namespace hftrain::plan
