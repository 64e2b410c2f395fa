// The tensors of an adapter's folder: low-rank matrices of modules, and modules that it holds whole.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hftrain/architectures/adapter.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/storage/box.h"
#include "hftrain/storage/stored_weights.h"

namespace hftrain::front {

// Used by one thread. What cannot be read, or does not fit, is an Error (exit code 4).
class AdapterWeights {
 public:
  explicit AdapterWeights(const std::string& folder);

  const std::string& folder() const { return weights_.folder(); }
  const Json& config() const { return config_; }
  const architectures::AdapterSpec& spec() const { return spec_; }
  // Of the model that it stands beside: base_model_name_or_path.
  const std::string& base() const { return base_; }

  // What its modules are called in memory is called as in the files of a model from now on, and the table says which matrices
  // have the input first: peft goes by the model there, too, whatever fan_in_fan_out says.
  void take_names(const architectures::ParameterTable& table);

  // By the names of transformers.
  const std::map<std::string, const storage::TensorEntry*>& whole() const { return whole_; }

  // What peft has written of the base model beside the adapter of that tensor, which counts then; null: nothing.
  const storage::TensorEntry* copy_of_base(const std::string& name) const;
  // Adds scale · up·down to `rows` of the tensor of that name, if it has an adapter.
  void add_product(const std::string& name, const storage::TensorEntry& entry, const storage::Box& rows,
                   std::span<char> bytes);
  // `rows` of a tensor that it holds whole, in the type of `entry`.
  void read_whole(const storage::TensorEntry& whole, const storage::TensorEntry& entry,
                  const storage::Box& rows, std::span<char> bytes) const;
  // Whether two of those hold the same bytes.
  bool same(const storage::TensorEntry& one, const storage::TensorEntry& other) const;
  // Whether it holds the numbers of `stored`, but for the rounding to the narrower type of the two.
  bool same(const storage::TensorEntry& whole, const storage::StoredWeights& base,
            const storage::TensorEntry& stored) const;
  // An Error when a module that has an adapter is not among the tensors `names` of a model.
  void require_modules(const std::set<std::string>& names) const;

 private:
  struct Halves {
    const storage::TensorEntry* down = nullptr;
    const storage::TensorEntry* up = nullptr;
  };
  struct Matrix {
    int64_t rows = 0, columns = 0;
    std::vector<float> numbers;  // row-major
  };

  void take(const storage::TensorEntry& entry);
  void require_targets() const;
  std::string place_of(const storage::TensorEntry& entry) const;
  Matrix matrix_of(const storage::TensorEntry& entry) const;
  Error homeless(const std::string& name) const;
  Error beside_a_tied_matrix(const std::string& module, const std::string& parameter) const;
  void load(const std::string& module);
  const std::string& name_in_files(const std::string& name) const;
  bool is_of(const std::string& module, const std::string& name) const;
  bool has_input_first(const std::string& name) const;

  storage::StoredWeights weights_;
  Json config_;
  std::string base_;
  architectures::AdapterSpec spec_;
  bool input_first_ = false;                                  // where no table says it
  std::map<std::string, std::string> names_in_files_;         // by the names in memory
  std::map<std::string, std::string> tied_;                   // which tensor of the model one of this name is
  std::map<std::string, bool> inputs_first_;                  // of matrices, by the names that files may have
  std::map<std::string, Halves> adapters_;                    // by module
  std::map<std::string, const storage::TensorEntry*> whole_;  // by name
  std::map<std::string, const storage::TensorEntry*> copies_;  // of the base model, by module
  std::string loaded_;                                         // the module of the two below
  Matrix down_, up_;
};

}  // namespace hftrain::front
