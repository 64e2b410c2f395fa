#include "hftrain/interchange/deepspeed_folder.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "hftrain/base/file.h"
#include "hftrain/base/shell.h"
#include "hftrain/interchange/frozen_parameters.h"
#include "hftrain/interchange/universal_folder.h"
#include "hftrain/interchange/zero_parts.h"

namespace hftrain::interchange {
namespace {

namespace fs = std::filesystem;

// What makes a model of the parts of a checkpoint's ranks.
std::string weights_alone(const std::string& checkpoint) {
  return "`python " + shell_quoted(checkpoint + "/zero_to_fp32.py") + ' ' + shell_quoted(checkpoint) +
         " OUT --safe_serialization` makes what --model_name_or_path OUT starts a new run from";
}

// And what makes the universal form of its folder `named`.
std::string conversion(const std::string& checkpoint, const std::string& named) {
  return "`python -m deepspeed.checkpoint.ds_to_universal --inject_missing_state --input_folder " +
         shell_quoted(checkpoint + '/' + named) + " --output_folder " +
         shell_quoted(checkpoint + '/' + named + "_universal") + "` makes of it what a run goes on from";
}

std::shared_ptr<DeepSpeedState> open_form(const std::string& checkpoint, Checksums checksums) {
  if (has_universal(checkpoint)) return std::make_shared<UniversalFolder>(checkpoint, checksums);
  try {
    return std::make_shared<ZeroParts>(checkpoint, checksums);
  } catch (Error& error) {
    const std::string hint = error.diagnostics().front().hint;
    if (hint != kCopyOrConvert && hint != kConvert) throw;
    const std::string convert = conversion(checkpoint, deepspeed_folder_named(checkpoint, kLatest));
    if (hint == kConvert) throw error.hint(convert);
    throw error.hint("copy the checkpoint again when it is not whole; " + convert +
                     "; of the weights alone " + weights_alone(checkpoint));
  }
}

// With round_robin_gradients.
Error out_of_order(const std::string& checkpoint, const std::string& path) {
  if (!has_universal(checkpoint))
    return Error(ExitCode::kData, "DeepSpeed's state cannot be gone on from")
        .where(path)
        .why("with round_robin_gradients it is not said there where a parameter lies")
        .hint("of the weights alone " + weights_alone(checkpoint));
  Error error = without_converter(
      checkpoint, path,
      "DeepSpeed's converter does not know the order of round_robin_gradients: under the name of a parameter "
      "are numbers of others");
  if (has_first_part(checkpoint)) error.hint(kTakeParts);
  return error;
}

std::shared_ptr<DeepSpeedState> open_state(const std::string& checkpoint, Checksums checksums) {
  std::shared_ptr<DeepSpeedState> saved = open_form(checkpoint, checksums);
  if (saved->in_order()) return saved;
  throw out_of_order(checkpoint, saved->path());
}

// The ranks' files are compared with the optimizer's, which are the same.
std::shared_ptr<DeepSpeedState> open_of_weights(const std::string& checkpoint, Checksums checksums) {
  return open_state(checkpoint, has_universal(checkpoint) ? checksums : Checksums::kLeft);
}

std::string named_folder(const std::string& checkpoint) {
  return checkpoint + '/' +
         deepspeed_folder_named(checkpoint, has_universal(checkpoint) ? kLatestUniversal : kLatest);
}

storage::SlicedTensor slice_of(const storage::StoredTensor& stored) {
  const storage::TensorEntry& entry = stored.entry;
  const std::vector<int64_t> begin(entry.shape.size(), 0);
  return {entry.name, entry.dtype, entry.shape, {{{begin, entry.shape}, &stored}}};
}

// accelerate saves a tied parameter under each of its names: those in the model's own file that DeepSpeed has under another one.
class SecondNames {
 public:
  explicit SecondNames(const DeepSpeedState& saved, const storage::FoundWeights& taken)
      : said_(saved.shapes().second_names()), taken_(taken), whole_(*saved.whole()) {
    if (said_) return;
    for (const auto& [name, tensor] : taken.tensors) {
      const storage::StoredTensor* rounded = whole_.find(name);
      if (rounded != nullptr && tells_apart(*rounded)) copies_.insert(contents(*rounded));
    }
  }

  bool has(const std::string& name) const {
    if (!said_) return copies_.count(contents(*whole_.find(name))) != 0;
    const auto found = said_->find(name);
    return found != said_->end() && taken_.tensors.count(found->second) != 0;
  }

 private:
  using Contents = std::tuple<storage::DType, std::vector<int64_t>, std::string_view>;
  static Contents contents(const storage::StoredTensor& tensor) {
    return {tensor.entry.dtype, tensor.entry.shape, tensor.bytes};
  }
  // Several biases and norms may be as they began, and are not tied.
  static bool tells_apart(const storage::StoredTensor& tensor) {
    return tensor.entry.shape.size() > 1 &&
           tensor.bytes.find_first_not_of(tensor.bytes.substr(0, 1)) != std::string_view::npos;
  }

  const std::optional<std::map<std::string, std::string>>& said_;
  const storage::FoundWeights& taken_;
  const storage::ModelWeights& whole_;
  std::set<Contents> copies_;
};

void add_of_model(const DeepSpeedState& saved, storage::FoundWeights& found) {
  const SecondNames second_names(saved, found);
  std::vector<std::string> others;
  for (const std::string& name : saved.whole()->names()) {
    if (found.tensors.count(name) == 0 && !second_names.has(name)) others.push_back(name);
  }
  for (const std::string& name : others) {
    found.tensors.emplace(name, slice_of(*saved.whole()->find(name)));
    found.files[name] = {saved.whole()->shard_of(name)};
  }
}

// What a folder without a model's own file has of what was not trained, and what these lie in.
struct WithFrozen {
  WithFrozen(std::shared_ptr<DeepSpeedState> state, Checksums checksums)
      : saved(std::move(state)), frozen(*saved, checksums) {}
  std::shared_ptr<DeepSpeedState> saved;
  FrozenParameters frozen;
};

void add_frozen(const std::shared_ptr<DeepSpeedState>& saved, Checksums checksums,
                storage::FoundWeights& found) {
  const auto kept = std::make_shared<const WithFrozen>(saved, checksums);
  const std::string folder = fs::path(saved->shapes().folder()).lexically_relative(found.folder).string();
  for (const auto& [name, frozen] : kept->frozen.all()) {
    found.tensors.emplace(name, frozen.tensor);
    for (const std::string& file : frozen.files) found.files[name].push_back(folder + '/' + file);
  }
  found.keeps = kept;
}

// A universal folder may have others as well, without any state; SGD without momentum has none of what it trains.
bool is_trained(const DeepSpeedState& saved, const DeepSpeedParameter& parameter) {
  return parameter.weights && (!parameter.states.empty() || saved.shapes().trains(parameter.name));
}

// A tensor that was not trained lies in the model's own file as well, or is a tied one's second name.
bool is_taken(const DeepSpeedState& saved, const DeepSpeedParameter& parameter) {
  if (!parameter.weights) return false;
  return !saved.whole() || is_trained(saved, parameter) || saved.whole()->find(parameter.name) != nullptr;
}

}  // namespace

bool has_universal(const std::string& checkpoint) {
  return path_exists(checkpoint + '/' + kLatestUniversal);
}

bool has_deepspeed(const std::string& checkpoint) {
  return has_universal(checkpoint) || has_zero_parts(checkpoint);
}

std::optional<int64_t> deepspeed_updates(const std::string& checkpoint) {
  const std::optional<std::string> path = deepspeed_model_file(named_folder(checkpoint));
  if (!path) return std::nullopt;
  const TorchFile file(*path, kDeepSpeedRecords);
  const std::optional<TorchValue> updates = file.root().find("global_steps");
  return updates ? std::optional(updates->integer("global_steps")) : std::nullopt;
}

int64_t deepspeed_schedule_steps(const std::string& checkpoint) {
  const std::string folder = named_folder(checkpoint);
  const std::optional<std::string> path = deepspeed_model_file(folder);
  if (!path)
    throw not_of_deepspeed(
        folder,
        "no file says how far its schedule is: there is neither *_model_states.pt in it nor scheduler.pt");
  const TorchFile file(*path, kDeepSpeedRecords);
  const std::optional<TorchValue> kept = file.root().find("lr_scheduler");
  if (!kept || kept->kind() == TorchValue::Kind::kNone)
    throw not_of_deepspeed(checkpoint,
                           "its scheduler.pt is missing, and DeepSpeed did not keep the schedule");
  // It is not stepped where an update was skipped because its numbers were too large for float16.
  const int64_t updates = file.root().at("global_steps").integer("global_steps"),
                skipped = file.root().at("skipped_steps").integer("skipped_steps");
  if (skipped < 0 || updates < skipped)
    throw not_of_deepspeed(file.path(), "it skipped more updates than it did");
  return updates - skipped;
}

std::optional<DeepSpeedScale> read_deepspeed_scale(const std::string& checkpoint) {
  const bool universal = has_universal(checkpoint);
  const std::string path = universal ? universal_settings_file(checkpoint) : first_part(checkpoint);
  if (!path_exists(path)) return std::nullopt;
  const TorchFile file(path, kDeepSpeedRecords);
  const TorchValue saved = universal ? file.root() : file.root().at("optimizer_state_dict");
  const std::optional<TorchValue> scaler = saved.find("loss_scaler");
  if (!scaler || scaler->type() != kDynamicScaleRecord) return std::nullopt;
  const TorchValue fields = scaler->state("the loss scaler");
  const int64_t updates = fields.at("cur_iter").integer("cur_iter"),
                last = fields.at("last_overflow_iter").integer("last_overflow_iter"),
                window = fields.at("scale_window").integer("scale_window");
  if (last < -1 || last >= updates || window < 1)
    throw not_of_deepspeed(path, "its loss scale was changed after its last update");
  const double scale = fields.at("cur_scale").number("cur_scale");
  if (!std::isfinite(scale) || !(scale > 0)) throw not_of_deepspeed(path, "its loss scale is none");
  // It grows in the update behind one whose good ones fill the window; a scaler of torch's grows in the one that fills it.
  const int64_t good = updates - 1 - last;
  return DeepSpeedScale{scale, good == 0 ? 0 : (good - 1) % window};
}

storage::StoredWeights open_deepspeed_weights(const std::string& checkpoint, Checksums checksums) {
  const std::shared_ptr<DeepSpeedState> saved = open_of_weights(checkpoint, checksums);
  storage::FoundWeights found{checkpoint, {}, {}, saved};
  for (const DeepSpeedParameter& parameter : saved->parameters()) {
    if (!is_taken(*saved, parameter)) continue;
    found.tensors.emplace(parameter.name, saved->take(parameter.name, kFloatWeights));
    found.files[parameter.name] = saved->files_of(parameter.name, kFloatWeights);
  }
  if (saved->whole()) {
    add_of_model(*saved, found);
  } else {
    add_frozen(saved, checksums, found);
  }
  return storage::StoredWeights(std::move(found));
}

storage::StoredWeights open_deepspeed_trained(const std::string& checkpoint,
                                              const std::function<std::string(const std::string&)>& name,
                                              Checksums checksums) {
  const std::shared_ptr<DeepSpeedState> saved = open_of_weights(checkpoint, checksums);
  storage::FoundWeights found{checkpoint, {}, {}, saved};
  for (const DeepSpeedParameter& parameter : saved->parameters()) {
    if (!is_trained(*saved, parameter)) continue;
    storage::SlicedTensor tensor = saved->take(parameter.name, kFloatWeights);
    tensor.name = name(parameter.name);
    found.files[tensor.name] = saved->files_of(parameter.name, kFloatWeights);
    found.tensors.emplace(tensor.name, tensor);
  }
  if (found.tensors.empty()) throw not_of_deepspeed(saved->path(), "it holds no parameter that was trained");
  return storage::StoredWeights(std::move(found));
}

OptimizerStates open_deepspeed_optimizer(const std::string& checkpoint, Checksums checksums) {
  const std::shared_ptr<DeepSpeedState> saved = open_state(checkpoint, checksums);
  OptimizerStates states(saved->path(), saved);
  for (const DeepSpeedParameter& parameter : saved->parameters()) {
    for (const std::string& state : parameter.states)
      states.add(parameter.name, state, saved->take(parameter.name, state),
                 saved->files_of(parameter.name, state));
  }
  return states;
}

}  // namespace hftrain::interchange
