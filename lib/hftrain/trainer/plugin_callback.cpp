#include "hftrain/trainer/plugin_callback.h"

#include <string>
#include <utility>

#include "hftrain/base/json.h"

namespace hftrain::trainer {
namespace {

class PluginCallback final : public Callback {
 public:
  PluginCallback(PluginPart part, std::string state_name, std::unique_ptr<plugin::Callback> callback,
                 const plan::RunPlan& plan, int rank)
      : part_(std::move(part)),
        state_name_(std::move(state_name)),
        callback_(std::move(callback)),
        plan_(plan),
        rank_(rank) {}

  void on_init_end(const State& state, Control& control) override {
    tell("on_init_end", &plugin::Callback::on_init_end, state, control);
  }
  void on_train_begin(const State& state, Control& control) override {
    tell("on_train_begin", &plugin::Callback::on_train_begin, state, control);
  }
  void on_epoch_begin(const State& state, Control& control) override {
    tell("on_epoch_begin", &plugin::Callback::on_epoch_begin, state, control);
  }
  void on_step_begin(const State& state, Control& control) override {
    tell("on_step_begin", &plugin::Callback::on_step_begin, state, control);
  }
  void on_substep_end(const State& state, Control& control) override {
    tell("on_substep_end", &plugin::Callback::on_substep_end, state, control);
  }
  void on_pre_optimizer_step(const State& state, Control& control) override {
    tell("on_pre_optimizer_step", &plugin::Callback::on_pre_optimizer_step, state, control);
  }
  void on_optimizer_step(const State& state, Control& control) override {
    tell("on_optimizer_step", &plugin::Callback::on_optimizer_step, state, control);
  }
  void on_step_end(const State& state, Control& control) override {
    tell("on_step_end", &plugin::Callback::on_step_end, state, control);
  }
  void on_log(const State& state, Control& control, const Json& record) override {
    tell("on_log", &plugin::Callback::on_log, state, control, numbers_of(record));
  }
  void on_prediction_step(const State& state, Control& control) override {
    tell("on_prediction_step", &plugin::Callback::on_prediction_step, state, control);
  }
  void on_evaluate(const State& state, Control& control, const Json& record) override {
    tell("on_evaluate", &plugin::Callback::on_evaluate, state, control, numbers_of(record));
  }
  void on_predict(const State& state, Control& control, const Json& record) override {
    tell("on_predict", &plugin::Callback::on_predict, state, control, numbers_of(record));
  }
  void on_save(const State& state, Control& control) override {
    tell("on_save", &plugin::Callback::on_save, state, control);
  }
  void on_epoch_end(const State& state, Control& control) override {
    tell("on_epoch_end", &plugin::Callback::on_epoch_end, state, control);
  }
  void on_train_end(const State& state, Control& control) override {
    tell("on_train_end", &plugin::Callback::on_train_end, state, control);
  }

  std::string state_name() const override { return state_name_; }
  // As the Trainer keeps callbacks, which makes them of `args` and then sets `attributes`.
  Json save_state() const override {
    const std::string text = part_.call("save_state", [&] { return callback_->save_state(); });
    return {{"args", Json::object()}, {"attributes", {{"state", text}}}};
  }
  void load_state(const Json& state) override {
    if (!state.contains("attributes")) return;
    const std::string text = state.at("attributes").value("state", "");
    if (!text.empty()) part_.call("load_state", [&] { callback_->load_state(text); });
  }

 private:
  template <typename Event, typename... Arguments>
  void tell(const char* name, Event event, const State& state, Control& control,
            const Arguments&... arguments) {
    const plugin::State shown = {.global_step = state.global_step,
                                 .max_steps = plan_.steps.max_steps,
                                 .epoch = state.epoch,
                                 .num_train_epochs = plan_.steps.epochs,
                                 .best_metric = state.best_metric,
                                 .best_model_checkpoint = state.best_checkpoint,
                                 .total_flos = state.total_flos,
                                 .num_input_tokens_seen = state.input_tokens_seen,
                                 .learning_rate = state.learning_rate,
                                 .grad_norm = state.grad_norm,
                                 .is_world_process_zero = rank_ == 0};
    part_.call(name, [&] { ((*callback_).*event)(shown, control, arguments...); });
  }

  PluginPart part_;
  std::string state_name_;
  std::unique_ptr<plugin::Callback> callback_;
  const plan::RunPlan& plan_;
  int rank_;
};

}  // namespace

plugin::Metrics numbers_of(const Json& record) {
  plugin::Metrics numbers;
  for (const auto& [name, value] : record.items()) {
    if (value.is_number()) numbers.emplace_back(name, value.get<double>());
  }
  return numbers;
}

std::unique_ptr<Callback> plugin_callback(PluginPart part, std::string state_name,
                                          std::unique_ptr<plugin::Callback> callback,
                                          const plan::RunPlan& plan, int rank) {
  return std::make_unique<PluginCallback>(std::move(part), std::move(state_name), std::move(callback), plan,
                                          rank);
}

}  // namespace hftrain::trainer
