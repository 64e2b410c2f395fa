#include "hftrain/interchange/zero_parts.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "hftrain/base/file.h"
#include "hftrain/base/printable.h"
#include "hftrain/interchange/folder_names.h"
#include "hftrain/storage/tensor_size.h"

namespace hftrain::interchange {
namespace {

using Kind = TorchValue::Kind;

constexpr std::string_view kEnd = "_mp_rank_00_optim_states.pt", kAnyEnd = "_optim_states.pt";

bool is_of_stage_0(const std::string& folder) {
  const std::string path = folder + '/' + kModelFile;
  if (!path_exists(path)) return false;
  const TorchFile file(path, kDeepSpeedRecords);
  const std::optional<TorchValue> optimizer = file.root().find("optimizer");
  return optimizer && optimizer->kind() != Kind::kNone;
}

// In the order of the ranks.
std::vector<std::string> optimizer_files(const std::string& checkpoint, const std::string& folder) {
  for (const std::string& name : names_in_folder(folder)) {
    if (name.ends_with(kAnyEnd) && !is_of_rank(name, kEnd))
      throw not_of_deepspeed(folder + '/' + printable(name),
                             "it is of a rank that holds a part of the model for itself (tensor parallelism)")
          .hint(kConvert);
  }
  std::vector<std::string> names = files_of_ranks(folder, kEnd);
  if (names.empty() && is_of_stage_0(folder))
    throw without_converter(checkpoint, folder + '/' + kModelFile,
                            "it is of stage 0, whose optimizer lies there in a form of its own");
  if (names.empty()) throw not_of_deepspeed(folder, "it holds no zero_pp_rank_0_mp_rank_00_optim_states.pt");
  return names;
}

int64_t whole_number(const TorchValue& value, const char* what) {
  const bool wrapped = value.type() == kStageRecord;
  if (!wrapped) return value.integer(what);
  const TorchValue arguments = value.arguments(what);
  return arguments.count(what) == 1 ? arguments.items(what).front().integer(what) : value.integer(what);
}

// One number, or a list of one for each group.
int64_t ranks_of(const TorchValue& saved) {
  const std::optional<TorchValue> count = saved.find("partition_count");
  if (!count) return 0;
  if (count->kind() != Kind::kList) return count->integer("partition_count");
  int64_t most = 0;
  if (count->count("partition_count") > kMostGroups) return -1;
  for (const TorchValue& one : count->items("partition_count"))
    most = std::max(most, one.integer("partition_count"));
  return most;
}

uint64_t numbers_in(const std::vector<int64_t>& shape, const std::string& path) {
  const storage::TensorEntry entry{"", storage::DType::kF32, shape};
  if (!storage::checked_bits(entry)) throw not_of_deepspeed(path, "a parameter is too large");
  return entry.elements();
}

// Between parameters, so that each begins at a round address.
bool has_paddings(const TorchValue& saved, const std::string& path) {
  const std::optional<TorchValue> groups = saved.find("param_alignment_paddings");
  if (!groups || groups->kind() != Kind::kList) return false;
  if (groups->count("the groups") > kMostGroups) throw not_of_deepspeed(path, "it has too many groups");
  size_t paddings = 0;
  for (const TorchValue& group : groups->items("the groups")) {
    paddings += group.count("a group's paddings");
    if (paddings > kMostTensors) throw not_of_deepspeed(path, "it has too many parameters");
    for (const TorchValue& padding : group.items("a group's paddings")) {
      if (padding.integer("a padding") != 0) return true;
    }
  }
  return false;
}

// A group's share, in states of the same number of numbers, and counters.
std::map<std::string, TorchValue> share_of(const TorchValue& weights, const TorchValue* state,
                                           const std::string& path) {
  std::map<std::string, TorchValue> share{{kFloatWeights, weights}};
  if (state == nullptr) return share;
  if (state->count("the state of a group") > kMostStates)
    throw unusable_state(path, "a group has more than " + std::to_string(kMostStates) + " states");
  for (const auto& [key, value] : state->pairs("the state of a group")) {
    const std::string& name = key.text("the name of a state");
    if (value.kind() != Kind::kNone && !share.emplace(name, value).second)
      throw not_of_deepspeed(path, "a group has its state '" + printable(name) + "' twice");
  }
  return share;
}

// Nothing of a counter that is no plain number.
std::optional<int64_t> updates_of(const std::map<std::string, TorchValue>& share, const std::string& path) {
  const auto counter = share.find(kStepCounter);
  if (counter == share.end()) return std::nullopt;
  const TorchValue& value = counter->second;
  if (value.kind() == Kind::kTensor) {
    const PickledTensor& tensor = value.tensor("a counter");
    if (tensor.dtype != storage::DType::kF32 || !tensor.shape.empty()) return std::nullopt;
  }
  constexpr double kMost = 1e15;
  const double updates = value.number("the number of updates");
  if (!(updates >= 0 && updates <= kMost)) throw not_of_deepspeed(path, "its number of updates is none");
  return static_cast<int64_t>(updates);
}

// What is left over of a share says that it was cut otherwise than it is read.
void check_numbers(const std::map<std::string, TorchValue>& share, size_t group, uint64_t due,
                   const std::string& path) {
  for (const auto& [state, value] : share) {
    if (state == kStepCounter) continue;
    const PickledTensor& row = value.tensor("a group's numbers");
    const storage::TensorEntry entry{"", row.dtype, row.shape};
    if (entry.elements() == due) continue;
    throw not_of_deepspeed(path, "group " + std::to_string(group) + " has " +
                                     std::to_string(entry.elements()) + " numbers of '" + printable(state) +
                                     "', and its parameters have " + std::to_string(due) + " on a rank");
  }
}

}  // namespace

bool has_zero_parts(const std::string& checkpoint) {
  std::error_code unreadable;
  return std::filesystem::is_regular_file(checkpoint + '/' + kLatest, unreadable);
}

std::string first_part(const std::string& checkpoint) {
  const std::string folder = checkpoint + '/' + deepspeed_folder_named(checkpoint, kLatest);
  return folder + '/' + optimizer_files(checkpoint, folder).front();
}

bool has_first_part(const std::string& checkpoint) {
  if (!has_zero_parts(checkpoint)) return false;
  try {
    first_part(checkpoint);
    return true;
  } catch (const Error&) {
    return false;
  }
}

ZeroParts::ZeroParts(std::string checkpoint, Checksums checksums, size_t most)
    : checkpoint_(std::move(checkpoint)),
      named_(deepspeed_folder_named(checkpoint_, kLatest)),
      folder_(checkpoint_ + '/' + named_),
      most_(most),
      shapes_(checkpoint_, folder_),
      tensors_(most) {
  const std::vector<std::string> names = optimizer_files(checkpoint_, folder_);
  const auto ranks = static_cast<int64_t>(names.size());
  tensors_.allow_parts(names.size());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const TorchFile& file =
        files_.emplace_back(folder_ + '/' + names[static_cast<size_t>(rank)], kDeepSpeedRecords);
    if (checksums == Checksums::kCompared) file.check();
    add_rank(file, rank, ranks);
  }
  check_whole();
}

void ZeroParts::add_rank(const TorchFile& file, int64_t rank, int64_t ranks) {
  const TorchValue saved = file.root().at("optimizer_state_dict");
  const std::optional<TorchValue> said = saved.find("zero_stage");
  const int64_t stage = said ? whole_number(*said, "zero_stage") : 1;  // obeys_round_robin()
  const int64_t saved_ranks = ranks_of(saved);
  if (saved_ranks != ranks && saved_ranks != 0)
    throw not_of_deepspeed(file.path(), "the run had " + std::to_string(saved_ranks) +
                                            " ranks, and there are files of " + std::to_string(ranks));
  check_stage(file, stage);
  ranges_ = 0;
  if (stage == 3) {
    add_by_parameters(file, saved, rank, ranks);
  } else {
    add_by_groups(file, saved, is_turned(file, saved, ranks));
  }
}

void ZeroParts::check_stage(const TorchFile& file, int64_t stage) {
  if (!stage_) stage_ = stage;
  if (*stage_ != stage)
    throw not_of_deepspeed(file.path(), "it is of stage " + std::to_string(stage) +
                                            " of ZeRO, and the file of rank 0 of " + std::to_string(*stage_));
}

void ZeroParts::check_updates(const TorchFile& file, size_t group, const Share& share) {
  const std::optional<int64_t> updates = updates_of(share, file.path());
  if (!updates) return;
  const int64_t first = updates_.emplace(group, *updates).first->second;
  if (*updates != first)
    throw not_of_deepspeed(file.path(), "it is of " + std::to_string(*updates) +
                                            " updates, and the file of rank 0 of " + std::to_string(first));
}

bool ZeroParts::is_turned(const TorchFile& file, const TorchValue& saved, int64_t ranks) {
  const bool asked = has_shuffled_groups(file.root()) || shapes_.shuffled();
  if (ranks == 1 || !asked || !obeys_round_robin(saved)) return false;
  // Nothing says how parameters are filled up in that order.
  in_order_ = in_order_ && !shapes_.groups().empty() && !has_paddings(saved, file.path());
  return in_order_;
}

// Stages 1 and 2: param_slice_mappings says which range of the rank's share is whose.
void ZeroParts::add_by_groups(const TorchFile& file, const TorchValue& saved, bool turned) {
  const TorchValue weights = saved.at("single_partition_of_fp32_groups"),
                   places = saved.at("param_slice_mappings");
  const TorchValue base = saved.at("base_optimizer_state");
  const TorchValue states = base.kind() == Kind::kDict ? base.at("state") : base;
  const size_t groups = weights.count("the groups");
  if (groups > kMostGroups || places.count("param_slice_mappings") != groups ||
      (turned && shapes_.groups().size() != groups))
    throw not_of_deepspeed(file.path(), "its groups are not those of its parameters");
  const std::vector<TorchValue> of_weights = weights.items("the groups"),
                                of_places = places.items("param_slice_mappings");
  const DeepSpeedGroups of_states(states, file.path());
  std::set<std::string> placed;
  for (size_t group = 0; group < groups; ++group) {
    const Share share = share_of(of_weights[group], of_states.find(group), file.path());
    check_updates(file, group, share);
    if (turned) {
      add_turned_group(file, group, share);
    } else {
      add_group(file, of_places[group], share, placed);
    }
  }
}

// The ranks' shares, one behind another, are the group's parameters.
void ZeroParts::add_turned_group(const TorchFile& file, size_t group, const Share& share) {
  const PickledTensor& row = share.at(kFloatWeights).tensor("a group's numbers");
  const uint64_t begin = turned_[group],
                 end = begin + storage::TensorEntry{"", row.dtype, row.shape}.elements();
  uint64_t at = 0;  // of the parameter
  for (const auto& [name, shape] : shapes_.groups()[group]) {
    if (at >= end) break;
    const uint64_t from = std::max(at, begin);
    at += numbers_in(shape, file.path());
    const uint64_t to = std::min(at, end);
    if (from < to) add_range(file, name, share, from - begin, to - from);
  }
  turned_[group] = end;
}

// zero_to_fp32.py refuses other numbers as well: the shapes are of another model then.
void ZeroParts::check_turned() const {
  const uint64_t step = 2 * files_.size();  // a group is filled up to a multiple of it
  const auto refuse = [&](size_t group, uint64_t count, const char* than) {
    throw not_of_deepspeed(folder_, "the ranks have " + std::to_string(count) + " numbers of group " +
                                        std::to_string(group) + ", and its parameters have " + than);
  };
  for (const auto& [group, count] : turned_) {
    uint64_t due = 0;
    for (const auto& [name, shape] : shapes_.groups()[group]) {
      due += numbers_in(shape, folder_);
      if (due > count) refuse(group, count, "more");
    }
    if (count > (due + step - 1) / step * step) refuse(group, count, "fewer");
  }
}

void ZeroParts::add_group(const TorchFile& file, const TorchValue& places, const Share& share,
                          std::set<std::string>& placed) {
  if (places.count("a group") > kMostTensors)
    throw not_of_deepspeed(file.path(), "a group has too many parameters");
  for (const auto& [key, place] : places.pairs("a group")) {
    const std::string& name = key.text("the name of a parameter");
    if (!placed.insert(name).second)
      throw not_of_deepspeed(file.path(), '\'' + printable(name) + "' has two places");
    if (place.type() != kFragmentRecord || place.state("a place").count("a place") > kMostStates)
      throw not_of_deepspeed(file.path(), "a parameter has no place");
    const TorchValue fields = place.state("a place");
    const int64_t from = fields.at("start").integer("start"), count = fields.at("numel").integer("numel");
    if (from < 0 || count < 0) throw not_of_deepspeed(file.path(), "a place lies below 0");
    add_range(file, name, share, static_cast<uint64_t>(from), static_cast<uint64_t>(count));
  }
}

// Stage 3: each parameter is cut into as many ranges as there are ranks, of which the last ones may be filled up.
void ZeroParts::add_by_parameters(const TorchFile& file, const TorchValue& saved, int64_t rank,
                                  int64_t ranks) {
  const std::optional<TorchValue> of_some = saved.find("ds_zero_partition_groups");
  if (of_some && of_some->kind() != Kind::kNone)
    throw without_converter(checkpoint_, file.path(),
                            "its parameters are cut among some of the ranks (expert parallelism)");
  const TorchValue weights = saved.at("fp32_flat_groups");
  const TorchValue states = saved.at("optimizer_state_dict").at("state");
  const std::vector<ParameterShapes::Group>& groups = shapes_.groups();
  const size_t saved_groups = weights.count("the groups"), saved_states = states.count("the states");
  if (saved_groups != groups.size() || saved_states > groups.size())
    throw not_of_deepspeed(file.path(), "it has " + std::to_string(std::max(saved_groups, saved_states)) +
                                            " groups of parameters, and the model has " +
                                            std::to_string(groups.size()));
  const std::vector<TorchValue> of_weights = weights.items("the groups");
  const DeepSpeedGroups of_states(states, file.path());
  for (size_t group = 0; group < groups.size(); ++group) {
    const Share share = share_of(of_weights[group], of_states.find(group), file.path());
    check_updates(file, group, share);
    uint64_t from = 0;
    for (const auto& [name, shape] : groups[group]) {
      const uint64_t all = numbers_in(shape, file.path()),
                     each = (all + static_cast<uint64_t>(ranks) - 1) / static_cast<uint64_t>(ranks);
      const uint64_t before = std::min(all, each * static_cast<uint64_t>(rank));
      add_range(file, name, share, from, std::min(each, all - before));
      from += each;
    }
    check_numbers(share, group, from, file.path());
  }
}

void ZeroParts::add_range(const TorchFile& file, const std::string& parameter, const Share& share,
                          uint64_t from, uint64_t count) {
  const std::vector<int64_t>& shape = shapes_.of(parameter, file.path());
  const std::string name = std::filesystem::path(file.path()).lexically_relative(checkpoint_).string();
  for (const auto& [state, value] : share) {
    // A pickle may say one range a million times.
    if (++ranges_ > most_) throw not_of_deepspeed(file.path(), "it has too many parameters");
    const auto key = std::pair(parameter, state);
    if (state == kStepCounter) {
      if (states_.count(key) == 0) states_[key] = tensors_.add(parameter, value, file.path());
    } else {
      uint64_t& begin = done_[key];
      tensors_.add_range(states_[key], value, {from, begin, count}, {parameter, storage::DType::kF32, shape},
                         file.path());
      begin += count;
    }
    std::vector<std::string>& files = files_of_[key];
    if (files.empty() || files.back() != name) files.push_back(name);
  }
}

void ZeroParts::check_whole() {
  check_turned();
  for (const auto& [key, count] : done_) {
    if (storage::TensorEntry{"", storage::DType::kF32, states_.at(key).shape}.elements() != count)
      throw not_of_deepspeed(folder_, "the ranks have " + std::to_string(count) + " numbers of '" +
                                          key.second + "' of '" + printable(key.first) +
                                          "', and its shape has others");
  }
  for (const auto& [key, tensor] : states_) {
    if (parameters_.empty() || parameters_.back().name != key.first)
      parameters_.push_back({key.first, false, {}});
    if (key.second == kFloatWeights) {
      parameters_.back().weights = true;
    } else {
      parameters_.back().states.push_back(key.second);
    }
  }
  if (parameters_.empty()) throw not_of_deepspeed(folder_, "it holds no parameter");
  check_states();
}

// A rank whose file has none would have its parameters begin theirs anew.
void ZeroParts::check_states() const {
  const auto keeps_state = [](const DeepSpeedParameter& parameter) { return !parameter.states.empty(); };
  const auto without = std::find_if_not(parameters_.begin(), parameters_.end(), keeps_state);
  if (without == parameters_.end() || std::none_of(parameters_.begin(), parameters_.end(), keeps_state))
    return;
  throw not_of_deepspeed(
      folder_, "its optimizer has state of some parameters and none of '" + printable(without->name) + '\'');
}

const storage::SlicedTensor& ZeroParts::take(const std::string& parameter, const std::string& state) {
  return states_.at({parameter, state});
}

std::vector<std::string> ZeroParts::files_of(const std::string& parameter, const std::string& state) const {
  return files_of_.at({parameter, state});
}

}  // namespace hftrain::interchange
