// Shapes in the files of a model against those that a model asks for: the rules and words that a plan, which sees headers, and a
// worker, which loads, have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/base/error.h"
#include "hftrain/plan/model_facts.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

// "[3, 2]"
std::string shape_text(const std::vector<int64_t>& shape);

// The dimension that alone is another in two shapes, as that of rows is; nothing where there is none or more than one.
std::optional<size_t> differing_dim(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

// What the source folder has to hold a parameter in: its own shape, or that to which rows are added.
const std::vector<int64_t>& shape_in_files(const architectures::ParameterSpec& spec,
                                           const std::vector<GrownParameter>& grown);

// Of the tensor `name` in the file `path`; `way_out`: --ignore_mismatched_sizes is one.
Error wrong_shape(const std::string& name, const std::string& path, const std::vector<int64_t>& wanted,
                  const std::vector<int64_t>& stored, bool way_out);

// The first tensor among `stored`, those of `folder`, that a model with this table cannot take.
std::optional<Error> first_wrong_shape(const architectures::ParameterTable& table, const std::string& folder,
                                       const StoredShapes& stored, const std::vector<GrownParameter>& grown);

}  // namespace hftrain::plan
