#include "launcher/front/saved_run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/json_member.h"
#include "hftrain/base/printable.h"
#include "hftrain/interchange/trainer_folder.h"

namespace hftrain::front {
namespace {

// What a checkpoint of before does not say itself: the plan of its run does, which stands beside it until another run writes one.
Json planned(const std::string& checkpoint, const char* place) {
  const std::string path = checkpoint + "/../hftrain/plan.json";
  const std::optional<Json> plan = path_exists(path) ? try_parse_json(read_file(path)) : std::nullopt;
  const Json::json_pointer pointer(place);
  return plan && plan->contains(pointer) ? plan->at(pointer) : Json();
}

std::optional<bool> saved_types(const Json& state, const std::string& checkpoint) {
  if (state.contains("token_types")) return state["token_types"].get<bool>();
  const Json columns = planned(checkpoint, "/data/padding/columns");
  if (!columns.is_array() || columns.empty()) return std::nullopt;
  return std::ranges::any_of(columns, [](const Json& column) {
    return column.is_object() && column.value("tensor", Json()) == "token_type_ids";
  });
}

// The plan of an evaluation alone, which takes the place of the training's, names no optimizer that has trained.
Json of_optimizer(const Json& state, const std::string& checkpoint, const char* key, const char* place) {
  if (state.contains(key)) return state[key];
  return planned(checkpoint, "/do_train") == true ? planned(checkpoint, place) : Json();
}

std::string saved_optimizer(const Json& state, const std::string& checkpoint) {
  const Json name = of_optimizer(state, checkpoint, "optimizer", "/optimizer/name");
  return name.is_string() ? name.get<std::string>() : "";
}

std::optional<std::map<std::string, std::string>> saved_options(const Json& state,
                                                                const std::string& checkpoint) {
  const Json options = of_optimizer(state, checkpoint, "optimizer_options", "/optimizer/options");
  if (!options.is_object()) return std::nullopt;
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : options.items()) {
    if (value.is_string()) texts[name] = value.get<std::string>();
  }
  return texts;
}

// Ranks and batch of a checkpoint of ours; of one of the Trainer's, and of a model alone (--save_only_model), what their files tell.
plan::SavedRun saved_size(const std::string& checkpoint) {
  const std::string path = checkpoint + "/hftrain_state.json";
  if (!path_exists(path)) return {.world_size = interchange::ranks_of_trainer(checkpoint)};
  const Json state = read_json_file(path);
  if (!state.contains("global_batch")) return {.world_size = 0};  // of an earlier version
  return {.world_size = state.at("world_size").get<int>(),
          .global_train = state["global_batch"].get<int64_t>(),
          .optimizer = saved_optimizer(state, checkpoint),
          .optimizer_options = saved_options(state, checkpoint),
          .options_are_its_own = state.contains("optimizer_options"),
          .schedule = state.at("schedule").at("name").get<std::string>(),
          .token_types = saved_types(state, checkpoint)};
}

// Of a file that stands beside weights, not beside an adapter. Others may have written it.
std::string saved_version(const std::string& path) {
  return path_exists(path) ? printable(json_text(read_json_file(path), "transformers_version")) : "";
}

}  // namespace

std::optional<plan::SavedRun> saved_run(const std::string& checkpoint) {
  const std::string path = checkpoint + "/trainer_state.json";
  if (checkpoint.empty() || !path_exists(path)) return std::nullopt;
  plan::SavedRun saved = saved_size(checkpoint);
  const Json file = read_json_file(path);
  if (!file.is_object()) return saved;
  for (const auto& [key, flag] : {std::pair("logging_steps", "logging_steps"),
                                  {"eval_steps", "eval_steps"},
                                  {"save_steps", "save_steps"},
                                  {"train_batch_size", "per_device_train_batch_size"}}) {
    if (file.contains(key) && file[key].is_number_integer()) saved.settings[flag] = file[key].get<int64_t>();
  }
  saved.transformers_version = saved_version(checkpoint + "/config.json");
  return saved;
}

}  // namespace hftrain::front
