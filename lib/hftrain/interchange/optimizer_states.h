// An optimizer's state as another trainer left it, by the names of parameters.
#pragma once

#include <functional>
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

  // What is kept of a parameter under `state` ("exp_avg", …), and the files that hold it, relative to the checkpoint. A scalar has
  // the shape [1].
  void add(const std::string& parameter, const std::string& state, const storage::SlicedTensor& tensor,
           std::vector<std::string> files = {}) {
    states_[{parameter, state}] = &tensor;
    files_[{parameter, state}] = std::move(files);
  }

  // The same under other names of parameters.
  OptimizerStates renamed(const std::function<std::string(const std::string&)>& name) const;

  const std::string& path() const noexcept { return path_; }
  const std::map<std::pair<std::string, std::string>, const storage::SlicedTensor*>& all() const noexcept {
    return states_;
  }
  const std::vector<std::string>& files_of(const std::string& parameter, const std::string& state) const {
    return files_.at({parameter, state});
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
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> files_;
};

}  // namespace hftrain::interchange
