// What DeepSpeed leaves of a model that it does not train, in the files of the model (*_model_states.pt): frozen parameters and
// buffers. Of stages 1 and 2 one file has them whole; of stage 3 each file has its rank's share of the frozen parameters.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/interchange/deepspeed_state.h"
#include "hftrain/interchange/torch_tensors.h"

namespace hftrain::interchange {

// Mapped read-only. Error(kData), which names a parameter that no file has the numbers of.
class FrozenParameters {
 public:
  // Of the folder of `saved`, which lives on, but for what it has itself and second names of tied parameters.
  FrozenParameters(const DeepSpeedState& saved, Checksums checksums);

  struct Tensor {
    storage::SlicedTensor tensor;
    std::vector<std::string> files;  // names in the folder
  };
  const std::map<std::string, Tensor>& all() const noexcept { return all_; }

 private:
  using Values = std::map<std::string_view, TorchValue>;

  static Values values_of(const TorchFile& file, const char* key);
  bool is_elsewhere(const std::string& name) const;
  void add_whole(const TorchFile& file);
  void add_buffers(const TorchFile& file);
  void add_shares();
  void add_shares_of(const std::string& name, const TorchValue& shape, const std::vector<Values>& shares);
  // Earlier releases kept no shares.
  void refuse_missing(const TorchFile& file) const;

  const ParameterShapes& shapes_;
  std::set<std::string> trained_;
  std::deque<TorchFile> files_;
  TorchTensors tensors_;
  std::map<std::string, Tensor> all_;
};

}  // namespace hftrain::interchange
