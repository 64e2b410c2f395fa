// What DeepSpeed leaves of ZeRO in the parts of its ranks, in the folder that `latest` names (global_step<n>):
// [bf16_]zero_pp_rank_<rank>_mp_rank_00_optim_states.pt of each rank, with ranges of the numbers of parameters as they stand in one
// row, in stages 1 and 2 of its own share of each group of parameters, in stage 3 of its own share of each parameter.
// Names: https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/checkpoint/ds_to_universal.py
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/interchange/deepspeed_state.h"
#include "hftrain/interchange/torch_tensors.h"

namespace hftrain::interchange {

inline constexpr const char* kLatest = "latest";

bool has_zero_parts(const std::string& checkpoint);
// The file of the first rank. Error(kData) when it is not there, or files beside it are not those of ranks.
std::string first_part(const std::string& checkpoint);
// Whether it is: `latest` stays where the folder that it names was removed.
bool has_first_part(const std::string& checkpoint);

// Mapped read-only. The ranges must be those of every rank and give each parameter once and whole. Error(kData).
class ZeroParts final : public DeepSpeedState {
 public:
  // `most` ranges are taken of a rank.
  ZeroParts(std::string checkpoint, Checksums checksums, size_t most = kMostTensors);

  const std::string& path() const override { return folder_; }
  const std::vector<DeepSpeedParameter>& parameters() const override { return parameters_; }
  const storage::SlicedTensor& take(const std::string& parameter, const std::string& state) override;
  std::vector<std::string> files_of(const std::string& parameter, const std::string& state) const override;
  const ParameterShapes& shapes() const override { return shapes_; }
  bool in_order() const override { return in_order_; }

 private:
  // What a rank has of a group of parameters, by the names of states.
  using Share = std::map<std::string, TorchValue>;

  void add_rank(const TorchFile& file, int64_t rank, int64_t ranks);
  // Files of several saves may lie in one folder.
  void check_stage(const TorchFile& file, int64_t stage);
  void check_updates(const TorchFile& file, size_t group, const Share& share);
  // Whether the groups are in the order of the shapes, which is that of round_robin_gradients.
  bool is_turned(const TorchFile& file, const TorchValue& saved, int64_t ranks);
  void add_by_groups(const TorchFile& file, const TorchValue& saved, bool turned);
  void add_turned_group(const TorchFile& file, size_t group, const Share& share);
  void add_group(const TorchFile& file, const TorchValue& places, const Share& share,
                 std::set<std::string>& placed);
  void add_by_parameters(const TorchFile& file, const TorchValue& saved, int64_t rank, int64_t ranks);
  // The next `count` numbers of a parameter are those of the share from `from` on.
  void add_range(const TorchFile& file, const std::string& parameter, const Share& share, uint64_t from,
                 uint64_t count);
  void check_turned() const;
  void check_whole();
  void check_states() const;

  std::string checkpoint_, named_, folder_;
  size_t most_;
  ParameterShapes shapes_;
  std::deque<TorchFile> files_;
  TorchTensors tensors_;
  size_t ranges_ = 0;  // of the rank that is looked at
  bool in_order_ = true;
  std::map<size_t, uint64_t> turned_;  // numbers of the ranks so far, of each group
  std::optional<int64_t> stage_;
  std::map<size_t, int64_t> updates_;                             // of each group
  std::map<std::pair<std::string, std::string>, uint64_t> done_;  // numbers of each parameter's states
  std::map<std::pair<std::string, std::string>, storage::SlicedTensor> states_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> files_of_;
  std::vector<DeepSpeedParameter> parameters_;
};

}  // namespace hftrain::interchange
