#include "hftrain/interchange/universal_folder.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>

#include "hftrain/base/file.h"
#include "hftrain/base/printable.h"
#include "hftrain/interchange/folder_names.h"
#include "hftrain/interchange/zero_parts.h"

namespace hftrain::interchange {
namespace {

constexpr std::string_view kExtension = ".pt";
constexpr const char* kSettings = "/optimizer_state.pt";  // what is of no parameter

Error missing_file(const std::string& zero, const std::string& parameter, const std::string& state) {
  return not_of_deepspeed(
      zero + '/' + printable(parameter) + '/' + printable(state) + std::string(kExtension),
      "the file is missing");
}

// Of an optimizer that keeps nothing the converter takes no group of parameters, and says nothing. Run again it would leave the
// same, and so it is not named.
Error no_parameter(const std::string& checkpoint, const std::string& zero) {
  Error error = without_converter(
      checkpoint, zero,
      "it holds no parameter, as DeepSpeed's converter leaves it where the optimizer keeps nothing (SGD "
      "without momentum)");
  if (has_first_part(checkpoint)) return error.hint(kTakeParts);
  return error.hint("copy the checkpoint again when it is not whole; otherwise " +
                    error.diagnostics().front().hint);
}

DeepSpeedParameter look_at(const std::string& zero, const std::string& name) {
  DeepSpeedParameter parameter{name, false, {}};
  for (const std::string& file : names_in_folder(zero + '/' + name)) {
    if (!file.ends_with(kExtension)) continue;
    const std::string state = file.substr(0, file.size() - kExtension.size());
    if (state == kFloatWeights) {
      parameter.weights = true;
    } else {
      parameter.states.push_back(state);
    }
  }
  if (parameter.states.size() > kMostStates)
    throw not_of_deepspeed(zero + '/' + printable(name),
                           "it has more than " + std::to_string(kMostStates) + " states");
  return parameter;
}

}  // namespace

std::string universal_settings_file(const std::string& checkpoint) {
  return checkpoint + '/' + deepspeed_folder_named(checkpoint, kLatestUniversal) + "/zero" + kSettings;
}

UniversalFolder::UniversalFolder(std::string checkpoint, Checksums checksums)
    : checkpoint_(std::move(checkpoint)),
      named_(deepspeed_folder_named(checkpoint_, kLatestUniversal)),
      zero_(checkpoint_ + '/' + named_ + "/zero"),
      checksums_(checksums),
      shapes_(checkpoint_, checkpoint_ + '/' + named_) {
  if (!is_folder(zero_)) throw not_of_deepspeed(zero_, "the folder is missing");
  for (const std::string& name : names_in_folder(zero_)) {
    if (is_folder(zero_ + '/' + name)) parameters_.push_back(look_at(zero_, name));
  }
  if (parameters_.empty()) throw no_parameter(checkpoint_, zero_);
  if (parameters_.size() > kMostTensors)
    throw not_of_deepspeed(zero_, "it has more than " + std::to_string(kMostTensors) + " parameters");
  check_whole();
  find_counter();
}

void UniversalFolder::check_whole() const {
  std::set<std::string> names, states;
  for (const DeepSpeedParameter& parameter : parameters_) {
    if (!parameter.weights) throw missing_file(zero_, parameter.name, kFloatWeights);
    names.insert(parameter.name);
    states.insert(parameter.states.begin(), parameter.states.end());
  }
  std::set<std::string> trained;
  for (const ParameterShapes::Group& group : shapes_.groups()) {
    for (const auto& [name, shape] : group) {
      if (names.count(name) == 0)
        throw not_of_deepspeed(zero_ + '/' + printable(name), "the folder is missing");
      trained.insert(name);
    }
  }
  for (const DeepSpeedParameter& parameter : parameters_) {
    const bool frozen = parameter.states.empty() && trained.count(parameter.name) == 0;
    const std::set<std::string> has(parameter.states.begin(), parameter.states.end());
    for (const std::string& state : states) {
      if (!frozen && has.count(state) == 0) throw missing_file(zero_, parameter.name, state);
    }
  }
}

// The converter takes param_slice_mappings at their word.
bool UniversalFolder::in_order() const {
  if (!shapes_.shuffled()) return true;
  const std::string path = zero_ + kSettings;
  return path_exists(path) && !obeys_round_robin(TorchFile(path, kDeepSpeedRecords).root());
}

// Where DeepSpeed itself takes it from.
void UniversalFolder::find_counter() {
  const bool counted =
      std::any_of(parameters_.begin(), parameters_.end(), [](const DeepSpeedParameter& parameter) {
        return std::find(parameter.states.begin(), parameter.states.end(), kStepCounter) !=
               parameter.states.end();
      });
  const std::string path = zero_ + kSettings;
  if (counted || !path_exists(path)) return;
  const TorchFile& file = files_.emplace_back(path, kDeepSpeedRecords);
  if (checksums_ == Checksums::kCompared) file.check();
  const std::optional<TorchValue> optimizer = file.root().find("optimizer_state_dict");
  if (!optimizer) return;
  const DeepSpeedGroups groups(optimizer->at("state"), path);
  if (const TorchValue* state = groups.find(0)) counter_ = state->find(kStepCounter);
  if (!counter_) return;
  for (DeepSpeedParameter& parameter : parameters_) {
    if (!parameter.states.empty()) parameter.states.emplace_back(kStepCounter);
  }
}

std::vector<std::string> UniversalFolder::files_of(const std::string& parameter,
                                                   const std::string& state) const {
  if (state == kStepCounter && counter_) return {named_ + "/zero" + kSettings};
  return {named_ + "/zero/" + parameter + '/' + state + std::string(kExtension)};
}

const storage::SlicedTensor& UniversalFolder::take(const std::string& parameter, const std::string& state) {
  const std::string path = checkpoint_ + '/' + files_of(parameter, state).front();
  if (state == kStepCounter && counter_)
    return states_[{parameter, state}] = tensors_.add(parameter, *counter_, path);
  const TorchFile& file = files_.emplace_back(path);
  if (checksums_ == Checksums::kCompared) file.check();
  return states_[{parameter, state}] = tensor_in(file, parameter, state);
}

// Of stages 1 and 2 a dict with the tensor in its shape; of stage 3 its numbers alone, in one row.
storage::SlicedTensor UniversalFolder::tensor_in(const TorchFile& file, const std::string& parameter,
                                                 const std::string& state) {
  const TorchValue root = file.root();
  if (root.kind() == TorchValue::Kind::kDict) {
    const TorchValue tensor = root.at("param");
    tensor.tensor("param");
    return tensors_.add(parameter, tensor, file.path());
  }
  if (state == kStepCounter) return tensors_.add(parameter, root, file.path());
  root.tensor("a state");
  return tensors_.add(parameter, root, shapes_.of(parameter, file.path()), file.path());
}

}  // namespace hftrain::interchange
