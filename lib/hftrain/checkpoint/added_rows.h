// Rows that parameters have beyond those of a file: embeddings of tokens and positions that the saved model did not
// know yet.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/storage/stored_weights.h"

namespace hftrain::checkpoint {

// New tokens begin as in transformers 5.17 (PreTrainedModel.resize_token_embeddings, mean_resizing): drawn from a
// normal distribution with the mean of the stored rows and 1e-9 of their covariance, or at the mean itself where that
// is not positive definite. For a generator in the same state the numbers are those of transformers but for rounding:
// what its new modules draw before that is drawn here, too. Used by one thread.
class AddedRows {
 public:
  explicit AddedRows(at::Generator generator) : generator_(std::move(generator)) {}

  // Makes the rows of `spec` that `entry` of the files lacks; in the order in which transformers resizes: embeddings,
  // then the head. Reads the stored rows in groups, twice.
  void add(const architectures::ParameterSpec& spec, const plan::GrownParameter& grown,
           const storage::StoredWeights& weights, const storage::TensorEntry& entry);
  // To the rows of the part from `stored_rows` of it on, of a parameter that was added. Rows are counted along the
  // dimension that grew.
  void copy_to(const parallel::StatePart& part, int64_t stored_rows) const;

 private:
  struct Rows {
    int64_t first = 0;  // row of the parameter
    size_t dim = 0;     // that rows are counted along
    at::Tensor rows;    // float32
  };

  at::Tensor token_rows(const architectures::ParameterSpec& spec, const storage::StoredWeights& weights,
                        const storage::TensorEntry& entry);

  at::Generator generator_;
  std::map<std::string, Rows> added_;  // by parameter
};

}  // namespace hftrain::checkpoint
