// What DeepSpeed's ds_to_universal makes of a checkpoint: zero/<parameter>/ with a file of torch.save for the weights in float32
// (fp32.pt) and for each state of the optimizer, whole, by the names of parameters. `latest_universal` in the checkpoint names the
// folder that holds zero/.
// Names: https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/checkpoint/ds_to_universal.py
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/interchange/deepspeed_state.h"
#include "hftrain/interchange/torch_tensors.h"

namespace hftrain::interchange {

inline constexpr const char* kLatestUniversal = "latest_universal";
// Where both forms are there.
inline constexpr const char* kTakeParts =
    "remove latest_universal: the files of the ranks, which are beside it, are gone on from as they are";

// What is of no parameter.
std::string universal_settings_file(const std::string& checkpoint);

// Files are opened as they are asked for, and kept. Error(kData).
class UniversalFolder final : public DeepSpeedState {
 public:
  UniversalFolder(std::string checkpoint, Checksums checksums);

  const std::string& path() const override { return zero_; }
  const std::vector<DeepSpeedParameter>& parameters() const override { return parameters_; }
  const storage::SlicedTensor& take(const std::string& parameter, const std::string& state) override;
  std::vector<std::string> files_of(const std::string& parameter, const std::string& state) const override;
  const ParameterShapes& shapes() const override { return shapes_; }
  bool in_order() const override;

 private:
  // Every parameter has its weights, and the states that others have.
  void check_whole() const;
  void find_counter();
  storage::SlicedTensor tensor_in(const TorchFile& file, const std::string& parameter,
                                  const std::string& state);

  std::string checkpoint_, named_, zero_;
  Checksums checksums_;
  ParameterShapes shapes_;
  std::vector<DeepSpeedParameter> parameters_;
  std::deque<TorchFile> files_;
  std::optional<TorchValue> counter_;  // of stage 3, which has one for all parameters, beside them
  TorchTensors tensors_;
  std::map<std::pair<std::string, std::string>, storage::SlicedTensor> states_;
};

}  // namespace hftrain::interchange
