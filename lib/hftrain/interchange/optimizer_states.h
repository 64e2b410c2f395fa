// An optimizer's state as another trainer left it, by the names of parameters.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/storage/sharded_state.h"

namespace hftrain::interchange {

class OptimizerStates {
 public:
  // `path` is what messages name; `keeps` what the tensors lie in.
  OptimizerStates(std::string path, std::shared_ptr<const void> keeps)
      : path_(std::move(path)), keeps_(std::move(keeps)) {}

  // What is kept of a parameter under `state` ("exp_avg", …). A scalar has the shape [1].
  void add(std::string parameter, std::string state, const storage::SlicedTensor& tensor) {
    states_[{std::move(parameter), std::move(state)}] = &tensor;
  }

  const std::string& path() const noexcept { return path_; }
  const std::map<std::pair<std::string, std::string>, const storage::SlicedTensor*>& all() const noexcept {
    return states_;
  }
  // nullptr when there is none.
  const storage::SlicedTensor* find(const std::string& parameter, const std::string& state) const;
  // There is some state of it: it was updated.
  bool has_state(const std::string& parameter) const;
  std::vector<std::string> state_names() const;  // sorted

 private:
  std::string path_;
  std::shared_ptr<const void> keeps_;
  std::map<std::pair<std::string, std::string>, const storage::SlicedTensor*> states_;
};

}  // namespace hftrain::interchange
