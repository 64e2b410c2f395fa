// Builds a ParameterTable in the order of calls.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/architectures/architecture.h"

namespace hftrain::architectures {

class ParameterTableBuilder {
 public:
  // `origin` names the config in the Error (kData) of a model whose numbers cannot be counted.
  // `base_prefix` ("model.") goes before the names of all that the body has.
  ParameterTableBuilder(double initializer_range, std::string base_prefix, std::string origin)
      : std_(initializer_range), prefix_(std::move(base_prefix)), origin_(std::move(origin)) {
    table_.base_prefix = prefix_;
  }

  // The parameters that follow belong to this unit.
  void begin_unit(std::string name) {
    table_.units.push_back({std::move(name), false});
    unit_ = last_unit();
  }
  // What follows stands later in the order of parameters, and belongs to this earlier unit.
  void continue_unit(const std::string& name);
  // The same, of block `index` of a stack of equal blocks.
  // `stack` ("encoder.") where there are several.
  void begin_block(int64_t index, const std::string& stack = "") {
    table_.units.push_back({stack + "block." + std::to_string(index), true});
    unit_ = last_unit();
  }
  // What follows is the head's, and named as it is.
  // `within_body`: under the body's prefix all the same, as what only some heads ask of it.
  void begin_head(bool within_body = false) {
    in_head_ = true;
    if (!within_body) prefix_.clear();
  }
  // Normal with `std` (0: the config's). The row of padding, where one is named, starts at 0.
  void embedding(const std::string& name, int64_t rows, int64_t columns, double std = 0,
                 std::optional<int64_t> padding = std::nullopt, bool decay = true);
  // Positions that start as sines and cosines of them.
  void sinusoids(const std::string& name, int64_t rows, int64_t columns);
  // Zeros, by their full name; a file may hold them as `other_name`, too.
  void bias(const std::string& name, int64_t size, const std::string& other_name = "");
  // A weight matrix in its stored layout, normal with `std` (0: the config's), and a zero bias of `bias`
  // numbers (0: none).
  void matrix(const std::string& module, int64_t rows, int64_t columns, int64_t bias, double std = 0);
  // That of a head which gives the outputs.
  void output_matrix(const std::string& module, int64_t rows, int64_t columns, int64_t bias, double std = 0);
  // The same as matrix(), stored [inputs, outputs], with a bias (transformers' Conv1D).
  void conv1d(const std::string& module, int64_t inputs, int64_t outputs, double std = 0);
  // A matrix of more dimensions, such as a convolution's; with a bias as above.
  void kernel(const std::string& module, std::vector<int64_t> shape, int64_t bias);
  // A parameter that is no module's weight: its whole name, normal, decays.
  void free_tensor(const std::string& name, std::vector<int64_t> shape);
  // A norm's weight (ones, or zeros where 1 is added to it) and, for layer norms, its bias (zeros); neither decays.
  void norm(const std::string& module, int64_t size, bool with_bias, bool adds_one = false);
  // A norm's weight that starts as `value`.
  void constant_norm(const std::string& module, int64_t size, double value);
  // Zeros that are no parameter, by their full name.
  void buffer(const std::string& name, std::vector<int64_t> shape);
  // `parameter` of the body is used in the unit that was begun last, too, as `alias`.
  void tie(std::string alias, const std::string& parameter) {
    table_.tied.push_back({std::move(alias), table_.base_prefix + parameter, last_unit()});
  }
  ParameterTable finish(std::vector<std::string> ignored_patterns);

 private:
  void add(std::string name, std::vector<int64_t> shape, Init init, bool decay, bool is_embedding = false);

  int last_unit() const { return static_cast<int>(table_.units.size()) - 1; }

  double std_;
  std::string prefix_;
  std::string origin_;
  bool in_head_ = false;
  int unit_ = -1;  // that parameters belong to
  int64_t numbers_ = 0;
  ParameterTable table_;
};

}  // namespace hftrain::architectures
