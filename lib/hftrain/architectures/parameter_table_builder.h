// Builds a ParameterTable in the order of calls.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hftrain/architectures/architecture.h"

namespace hftrain::architectures {

class ParameterTableBuilder {
 public:
  // `origin` names the config in the Error (kData) of a model whose numbers cannot be counted.
  ParameterTableBuilder(double initializer_range, std::string origin)
      : std_(initializer_range), origin_(std::move(origin)) {}

  // The parameters that follow belong to this unit.
  void begin_unit(std::string name) { table_.units.push_back(std::move(name)); }
  void embedding(const std::string& name, int64_t rows, int64_t columns);
  // A weight matrix in its stored layout, normal with `std` (0: the config's), and a zero bias of `bias`
  // numbers (0: none).
  void matrix(const std::string& module, int64_t rows, int64_t columns, int64_t bias, double std = 0);
  // A norm's weight (ones) and, for layer norms, its bias (zeros); neither decays.
  void norm(const std::string& module, int64_t size, bool with_bias);
  void tie(std::string alias, std::string parameter) {
    table_.tied.push_back({std::move(alias), std::move(parameter)});
  }
  ParameterTable finish(std::string base_prefix, std::vector<std::string> ignored_patterns);

 private:
  void add(std::string name, std::vector<int64_t> shape, Init init, bool decay, bool is_embedding = false);

  double std_;
  std::string origin_;
  int64_t numbers_ = 0;
  ParameterTable table_;
};

}  // namespace hftrain::architectures
