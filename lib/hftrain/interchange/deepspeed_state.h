// A checkpoint's weights in float32 and the state of its optimizer as DeepSpeed leaves them, and what its forms have in common.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/interchange/torch_file.h"
#include "hftrain/storage/model_folder.h"
#include "hftrain/storage/sharded_state.h"

namespace hftrain::interchange {

inline constexpr const char* kFloatWeights = "fp32";  // a state beside those of the optimizer
inline constexpr const char* kStepCounter = "step";

// What DeepSpeed's pickles name beside tensors and plain containers (pickle_reader.h).
inline constexpr std::string_view kStageRecord = "deepspeed.runtime.zero.config.ZeroStageEnum";
inline constexpr std::string_view kFragmentRecord = "deepspeed.utils.tensor_fragment.fragment_address";
inline constexpr std::string_view kDynamicScaleRecord =
    "deepspeed.runtime.fp16.loss_scaler.DynamicLossScaler";
inline constexpr std::string_view kShapeRecord = "torch.Size";
inline constexpr std::array<std::string_view, 10> kDeepSpeedRecords{
    kStageRecord,      kFragmentRecord, kDynamicScaleRecord, "deepspeed.runtime.fp16.loss_scaler.LossScaler",
    kShapeRecord,      "torch.float32", "torch.float16",     "torch.bfloat16",
    "__builtin__.set", "builtins.set"};

// The file `pointer` of a checkpoint holds the name of a folder beside it. Error(kData) when it holds anything else.
std::string deepspeed_folder_named(const std::string& checkpoint, const char* pointer);

inline constexpr const char* kCopyOrConvert =
    "copy or convert the checkpoint again; --model_name_or_path starts a new run from whole weights";
inline constexpr const char* kConvert = "convert the checkpoint to DeepSpeed's universal form";
// Error(kData): `path` is not what DeepSpeed leaves, because of `why`.
Error not_of_deepspeed(const std::string& path, const std::string& why);
// Error(kData): of `path`, in `checkpoint`, DeepSpeed's converters make nothing that has the model's parameters.
Error without_converter(const std::string& checkpoint, const std::string& path, const std::string& why);

// The files of `folder` that are called [bf16_]zero_pp_rank_<rank> and `end`, in the order of the ranks, which are 0, 1, …; none where
// there is none. Error(kData) when one is missing or there are two of a rank.
std::vector<std::string> files_of_ranks(const std::string& folder, std::string_view end);
// Whether it is one of them.
bool is_of_rank(std::string_view name, std::string_view end);

// What DeepSpeed leaves of the model and the run, in one file of all ranks, and of stage 3 in one of each rank, of which this is the
// end. Ranks that hold experts of their own, or a part of the model for themselves, have further files.
inline constexpr const char* kModelFile = "mp_rank_00_model_states.pt";
inline constexpr std::string_view kEndOfModelPart = "_mp_rank_00_model_states.pt";
// The first of them in `folder`; nothing where there is none.
std::optional<std::string> deepspeed_model_file(const std::string& folder);

// Of a torch.Size. Error(kData) naming `path`.
std::vector<int64_t> deepspeed_shape(const TorchValue& size, const std::string& path);

// Of parameters; stage 3 makes one of each billion numbers.
inline constexpr size_t kMostGroups = size_t{1} << 16;

// The optimizer's states of groups of parameters, of a list or of a dict by numbers. Error(kData) naming `path` for one too many.
class DeepSpeedGroups {
 public:
  DeepSpeedGroups(const TorchValue& all, std::string path);
  // nullptr of an optimizer that keeps nothing, as SGD without momentum. Error(kData) where other groups have state.
  const TorchValue* find(size_t index) const;

 private:
  std::string path_;
  bool keeps_nothing_;
  std::map<int64_t, TorchValue> groups_;
};

// Of what was saved with DeepSpeed's settings: whether they ask stage 1 or 2 for the order of round_robin_gradients, which is another
// one where there are several ranks. param_slice_mappings know nothing of it, and param_shapes are in it.
// https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/runtime/zero/stage_1_and_2.py
bool has_shuffled_groups(const TorchValue& saved);
// Whether the optimizer that left `state` obeys them. BF16_Optimizer, of stage 1 in bfloat16 with gradients in float32, does not.
bool obeys_round_robin(const TorchValue& state);

// Shapes by the names of parameters: of the model's own file where it has them, else of what DeepSpeed leaves of the model in
// `folder`, beside the optimizer (*_model_states.pt). Error(kData) where ranks hold experts of their own.
class ParameterShapes {
 public:
  using Group = std::vector<std::pair<std::string, std::vector<int64_t>>>;

  ParameterShapes(const std::string& checkpoint, std::string folder);
  const std::string& folder() const noexcept { return folder_; }
  // The model's own file; nothing where there is none.
  const std::optional<storage::ModelWeights>& whole() const noexcept { return whole_; }
  // Error(kData) naming `origin` where no file says it.
  const std::vector<int64_t>& of(const std::string& parameter, const std::string& origin) const;
  // Whether DeepSpeed's file of the model has it among those that its optimizer trains.
  bool trains(const std::string& parameter) const { return shapes_.count(parameter) != 0; }
  // As DeepSpeed groups them, in its order; none where no file says it.
  const std::vector<Group>& groups() const noexcept { return groups_; }
  // Further names of tied parameters, with the names that their numbers have; nothing where no file says it.
  const std::optional<std::map<std::string, std::string>>& second_names() const noexcept {
    return second_names_;
  }
  // See has_shuffled_groups().
  bool shuffled() const noexcept { return shuffled_; }

 private:
  void read_groups(const TorchFile& file);
  void read_second_names(const TorchFile& file);
  std::string folder_;
  std::optional<storage::ModelWeights> whole_;
  std::vector<Group> groups_;
  std::map<std::string, std::vector<int64_t>> shapes_;
  std::optional<std::map<std::string, std::string>> second_names_;
  bool shuffled_ = false;
};

// What is there of a parameter.
struct DeepSpeedParameter {
  std::string name;
  bool weights = false;             // fp32
  std::vector<std::string> states;  // of the optimizer
};

class DeepSpeedState {
 public:
  virtual ~DeepSpeedState() = default;
  virtual const std::string& path() const = 0;  // for messages
  virtual const std::vector<DeepSpeedParameter>& parameters() const = 0;
  // Stays where it is.
  virtual const storage::SlicedTensor& take(const std::string& parameter, const std::string& state) = 0;
  // Relative to the checkpoint.
  virtual std::vector<std::string> files_of(const std::string& parameter, const std::string& state) const = 0;
  virtual const ParameterShapes& shapes() const = 0;
  // False where no file says which numbers of the ranks are whose, and what is taken is of other parameters.
  virtual bool in_order() const { return !shapes().shuffled(); }
  const std::optional<storage::ModelWeights>& whole() const { return shapes().whole(); }
};

}  // namespace hftrain::interchange
