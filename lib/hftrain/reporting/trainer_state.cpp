#include "hftrain/reporting/trainer_state.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/json_words.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ControlFlags, should_epoch_stop, should_evaluate, should_log, should_save,
                                   should_training_stop)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TrainerState, best_global_step, best_metric,
                                                best_model_checkpoint, epoch, eval_steps, global_step,
                                                is_hyper_param_search, is_local_process_zero,
                                                is_world_process_zero, logging_steps, max_steps,
                                                num_input_tokens_seen, num_train_epochs, save_steps,
                                                stateful_callbacks, total_flos, train_batch_size, trial_name,
                                                trial_params)

Json control_entry(const ControlFlags& flags) {
  return {{"args", flags}, {"attributes", Json::object()}};
}

std::string render_trainer_state(const TrainerState& state) {
  Json value(state);
  value["log_history"] = nullptr;
  const std::string text = python_json(value, 2) + '\n';
  constexpr std::string_view kPlace = "\n  \"log_history\": ", kNull = "null";
  const std::string_view whole = text;
  const size_t begin = whole.find(kPlace) + kPlace.size();
  return state.log_history.text_between(whole.substr(0, begin), whole.substr(begin + kNull.size()));
}

namespace {

Error no_trainer_state(const std::string& origin, const std::string& why) {
  return Error(ExitCode::kData, "not a trainer state")
      .where(origin)
      .why(why)
      .hint("copy the folder again, or use another checkpoint");
}

// sys.maxsize among them, which the Trainer writes for the epochs of a stream.
bool fits(const Json& number) {
  constexpr double kMost = 9.2e18;  // below 2^63
  if (number.is_number_float()) return std::abs(number.get<double>()) < kMost;
  return !number.is_number_unsigned() || number.get<uint64_t>() <= std::numeric_limits<int64_t>::max();
}

// A cast of what a whole number cannot hold says nothing that is known.
void check_whole_numbers(const Json& value, const std::string& origin) {
  for (const char* name : {"best_global_step", "eval_steps", "global_step", "logging_steps", "max_steps",
                           "num_input_tokens_seen", "num_train_epochs", "save_steps", "train_batch_size"}) {
    const auto number = value.find(name);
    if (number != value.end() && number->is_number() && !fits(*number))
      throw no_trainer_state(origin, "its " + std::string(name) + " is " + number->dump());
  }
}

}  // namespace

TrainerState parse_trainer_state(const std::string& text, const std::string& origin) {
  Json value = parse_json(text, origin);
  if (!value.is_object()) throw no_trainer_state(origin, "it is no mapping");
  check_whole_numbers(value, origin);
  // Older files hold null where newer ones hold an empty list or mapping.
  for (const char* name : {"log_history", "stateful_callbacks"}) {
    if (value.contains(name) && value[name].is_null()) value.erase(name);
  }
  try {
    TrainerState state = value.get<TrainerState>();
    if (value.contains("log_history")) state.log_history = LogHistory(value["log_history"]);
    return state;
  } catch (const Json::exception& error) {
    throw no_trainer_state(origin, words_of(error));
  }
}

}  // namespace hftrain::reporting
