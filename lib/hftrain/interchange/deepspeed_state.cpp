#include "hftrain/interchange/deepspeed_state.h"

#include <charconv>
#include <string_view>
#include <system_error>

#include "hftrain/base/file.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/shell.h"
#include "hftrain/base/text.h"
#include "hftrain/interchange/folder_names.h"
#include "hftrain/interchange/torch_tensors.h"

namespace hftrain::interchange {
namespace {

constexpr std::string_view kRank = "zero_pp_rank_";

// The number of the rank that a file is of.
std::optional<int64_t> rank_of(std::string_view name, std::string_view end) {
  if (name.starts_with("bf16_")) name.remove_prefix(5);
  if (!name.starts_with(kRank) || !name.ends_with(end) || name.size() <= kRank.size() + end.size())
    return std::nullopt;
  const std::string_view digits = name.substr(kRank.size(), name.size() - kRank.size() - end.size());
  int64_t rank = 0;
  const auto [last, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  return failure == std::errc() && last == digits.data() + digits.size() ? std::optional(rank) : std::nullopt;
}

bool is_of_experts(std::string_view name) {
  return name.starts_with("expp_rank_") || name.starts_with("expert_") ||
         (name.starts_with("layer_") && name.find("_expert_") != std::string_view::npos);
}

void refuse_experts(const std::string& checkpoint, const std::string& folder) {
  for (const std::string& name : names_in_folder(folder)) {
    if (is_of_experts(name))
      throw without_converter(checkpoint, folder + '/' + printable(name),
                              "its ranks hold experts of their own (expert parallelism)");
  }
}

}  // namespace

Error not_of_deepspeed(const std::string& path, const std::string& why) {
  return Error(ExitCode::kData, "not what DeepSpeed leaves of a run")
      .where(path)
      .why(why)
      .hint(kCopyOrConvert);
}

Error without_converter(const std::string& checkpoint, const std::string& path, const std::string& why) {
  const std::string begins = " starts a new run from ";
  return Error(ExitCode::kData, "DeepSpeed's state cannot be gone on from")
      .where(path)
      .why(why)
      .hint(storage::has_model_weights(checkpoint)
                ? "--model_name_or_path " + shell_quoted(checkpoint) + begins + "its model.safetensors"
                : "let the Trainer save the model whole (trainer.save_model): --model_name_or_path" + begins +
                      "that");
}

std::string deepspeed_folder_named(const std::string& checkpoint, const char* pointer) {
  constexpr size_t kLongest = 255;
  const std::string path = checkpoint + '/' + pointer;
  const MappedFile file(path);
  const std::string name = trim(file.bytes().substr(0, kLongest + 1));
  // As the Trainer and its converter name them; the name comes to terminals and into commands that people copy.
  const bool plain = !name.empty() && name.size() <= kLongest && name[0] != '.' && name[0] != '-' &&
                     shell_quoted(name) == name && name.find('/') == std::string::npos;
  if (!plain) throw not_of_deepspeed(path, "it names no folder beside it");
  return name;
}

bool is_of_rank(std::string_view name, std::string_view end) {
  return rank_of(name, end).has_value();
}

std::vector<std::string> files_of_ranks(const std::string& folder, std::string_view end) {
  std::map<int64_t, std::string> files;
  for (const std::string& name : names_in_folder(folder)) {
    const std::optional<int64_t> rank = rank_of(name, end);
    if (rank && !files.emplace(*rank, name).second)
      throw not_of_deepspeed(folder + '/' + printable(name), "another file is of the same rank");
  }
  std::vector<std::string> names;
  for (const auto& [rank, name] : files) {
    if (rank != static_cast<int64_t>(names.size()))
      throw not_of_deepspeed(folder, "the file of rank " + std::to_string(names.size()) + " is missing");
    names.push_back(name);
  }
  return names;
}

std::optional<std::string> deepspeed_model_file(const std::string& folder) {
  const std::string of_all = folder + '/' + kModelFile;
  if (path_exists(of_all)) return of_all;
  for (const std::string& name : names_in_folder(folder)) {
    if (is_of_rank(name, kEndOfModelPart)) return folder + '/' + name;
  }
  return std::nullopt;
}

// torch.Size((2, 3))
std::vector<int64_t> deepspeed_shape(const TorchValue& size, const std::string& path) {
  constexpr size_t kMostSizes = 64;
  const TorchValue arguments = size.arguments("a shape");
  const bool one = size.type() == kShapeRecord && arguments.count("a shape") == 1;
  const TorchValue given = one ? arguments.items("a shape").front() : arguments;
  if (!one || given.count("a shape") > kMostSizes) throw not_of_deepspeed(path, "a shape is none");
  std::vector<int64_t> dims;
  for (const TorchValue& dim : given.items("a shape")) {
    dims.push_back(dim.integer("a shape"));
    if (dims.back() < 0) throw not_of_deepspeed(path, "a shape has a number below 0");
  }
  return dims;
}

DeepSpeedGroups::DeepSpeedGroups(const TorchValue& all, std::string path)
    : path_(std::move(path)), keeps_nothing_(all.count("the states of groups") == 0) {
  if (all.count("the states of groups") > kMostGroups)
    throw not_of_deepspeed(path_, "it has too many groups");
  if (all.kind() == TorchValue::Kind::kDict) {
    for (const auto& [key, value] : all.pairs("the states of groups")) {
      if (key.kind() == TorchValue::Kind::kInteger) groups_.emplace(key.integer("a group"), value);
    }
  } else {
    int64_t index = 0;
    for (const TorchValue& group : all.items("the states of groups")) groups_.emplace(index++, group);
  }
}

const TorchValue* DeepSpeedGroups::find(size_t index) const {
  const auto found = groups_.find(static_cast<int64_t>(index));
  if (found != groups_.end()) return &found->second;
  if (keeps_nothing_) return nullptr;
  throw not_of_deepspeed(path_, "its optimizer has state of some parameters and none of those of group " +
                                    std::to_string(index));
}

bool has_shuffled_groups(const TorchValue& saved) {
  const std::optional<TorchValue> config = saved.find("ds_config");
  const std::optional<TorchValue> zero = config ? config->find("zero_optimization") : std::nullopt;
  if (!zero) return false;
  const std::optional<TorchValue> stage = zero->find("stage"),
                                  round_robin = zero->find("round_robin_gradients");
  constexpr int64_t kByParameters = 3;
  const bool by_groups = !stage || stage->integer("stage") != kByParameters;
  return by_groups && round_robin && round_robin->integer("round_robin_gradients") != 0;
}

bool obeys_round_robin(const TorchValue& state) {
  return state.find("zero_stage").has_value();  // the other one does not say its stage
}

ParameterShapes::ParameterShapes(const std::string& checkpoint, std::string folder)
    : folder_(std::move(folder)) {
  if (storage::has_model_weights(checkpoint)) whole_.emplace(checkpoint);
  if (!path_exists(folder_)) return;
  refuse_experts(checkpoint, folder_);
  const std::optional<std::string> path = deepspeed_model_file(folder_);
  if (!path) return;
  const TorchFile file(*path, kDeepSpeedRecords);
  read_groups(file);
  read_second_names(file);
  const std::optional<TorchValue> ranks = file.root().find("dp_world_size");
  shuffled_ = (!ranks || ranks->integer("dp_world_size") != 1) && has_shuffled_groups(file.root());
}

const std::vector<int64_t>& ParameterShapes::of(const std::string& parameter,
                                                const std::string& origin) const {
  if (whole_) {
    if (const storage::StoredTensor* tensor = whole_->find(parameter)) return tensor->entry.shape;
  }
  const auto found = shapes_.find(parameter);
  if (found != shapes_.end()) return found->second;
  throw not_of_deepspeed(
      origin, "the numbers of '" + printable(parameter) + "' stand in one row, and no file says its shape");
}

void ParameterShapes::read_groups(const TorchFile& file) {
  const std::optional<TorchValue> groups = file.root().find("param_shapes");
  if (!groups || groups->kind() == TorchValue::Kind::kNone) return;
  if (groups->count("param_shapes") > kMostGroups)
    throw not_of_deepspeed(file.path(), "it has too many groups");
  for (const TorchValue& saved : groups->items("param_shapes")) {
    Group& group = groups_.emplace_back();
    if (saved.count("a group's shapes") > kMostTensors)
      throw not_of_deepspeed(file.path(), "it has too many parameters");
    for (const auto& [parameter, shape] : saved.pairs("a group's shapes")) {
      const std::string& text = parameter.text("the name of a parameter");
      group.emplace_back(text, deepspeed_shape(shape, file.path()));
      if (!shapes_.emplace(group.back()).second)
        throw not_of_deepspeed(file.path(), "'" + printable(text) + "' has its shape twice");
    }
  }
}

void ParameterShapes::read_second_names(const TorchFile& file) {
  const std::optional<TorchValue> shared = file.root().find("shared_params");
  if (!shared || shared->kind() != TorchValue::Kind::kDict) return;
  if (shared->count("shared_params") > kMostTensors)
    throw not_of_deepspeed(file.path(), "it has too many parameters");
  second_names_.emplace();
  for (const auto& [second, first] : shared->pairs("shared_params"))
    second_names_->insert_or_assign(second.text("the name of a parameter"),
                                    first.text("the name of a parameter"));
}

}  // namespace hftrain::interchange
