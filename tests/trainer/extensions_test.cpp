// What is given to a run beside its plan: callbacks, whose wishes all ranks follow, a loss, a reporter.
#include "hftrain/trainer/extensions.h"

#include <ATen/core/Tensor.h>
#include <stdlib.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "comm/rank_processes.h"
#include "hftrain/base/environment.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/nn/loss.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/trainer/plugin_callback.h"
#include "hftrain/trainer/plugin_loss.h"
#include "support/catch.h"
#include "support/temporary_directory.h"
#include "trainer/tiny_run.h"

namespace hftrain::trainer {
namespace {

using testing::Rank;
using testing::RankBody;
using testing::Seen;
using testing::TemporaryDirectory;
using testing::tiny_plan;
using Words = std::vector<std::string>;

const PluginPart kPart{"the plug-in 'mine'", "/p/mine.so", "the callback 'listener'"};

// Beside the epoch, which all of them hold.
std::string first_of(const plugin::Metrics& metrics) {
  const bool epoch = metrics.size() > 1 && metrics.front().first == "epoch";
  return epoch ? metrics[1].first : metrics.front().first + " without epoch";
}

// Writes down what it is told, in the words of a plug-in, and may ask for something.
class Listener final : public plugin::Callback {
 public:
  using AtEvent = std::function<void(const std::string&, const plugin::State&, plugin::Control&)>;
  Listener(Words& heard, AtEvent at_event) : heard_(heard), at_event_(std::move(at_event)) {}

  void on_init_end(const plugin::State& s, plugin::Control& c) override { hear("init_end", s, c); }
  void on_train_begin(const plugin::State& s, plugin::Control& c) override { hear("train_begin", s, c); }
  void on_epoch_begin(const plugin::State& s, plugin::Control& c) override { hear("epoch_begin", s, c); }
  void on_step_begin(const plugin::State& s, plugin::Control& c) override { hear("step_begin", s, c); }
  void on_substep_end(const plugin::State& s, plugin::Control& c) override { hear("substep_end", s, c); }
  void on_pre_optimizer_step(const plugin::State& s, plugin::Control& c) override { hear("pre", s, c); }
  void on_optimizer_step(const plugin::State& s, plugin::Control& c) override { hear("optimizer", s, c); }
  void on_step_end(const plugin::State& s, plugin::Control& c) override { hear("step_end", s, c); }
  void on_log(const plugin::State& s, plugin::Control& c, const plugin::Metrics& m) override {
    hear("log " + first_of(m), s, c);
  }
  void on_prediction_step(const plugin::State& s, plugin::Control& c) override { hear("prediction", s, c); }
  void on_evaluate(const plugin::State& s, plugin::Control& c, const plugin::Metrics& m) override {
    hear("evaluate " + first_of(m), s, c);
  }
  void on_predict(const plugin::State& s, plugin::Control& c, const plugin::Metrics& m) override {
    hear("predict " + m.front().first, s, c);
  }
  void on_save(const plugin::State& s, plugin::Control& c) override { hear("save", s, c); }
  void on_epoch_end(const plugin::State& s, plugin::Control& c) override { hear("epoch_end", s, c); }
  void on_train_end(const plugin::State& s, plugin::Control& c) override { hear("train_end", s, c); }
  std::string save_state() const override { return std::to_string(heard_.size()); }
  void load_state(const std::string& text) override { heard_.push_back("state " + text); }

 private:
  void hear(const std::string& event, const plugin::State& state, plugin::Control& control) {
    heard_.push_back(event);
    if (at_event_) at_event_(event, state, control);
  }
  Words& heard_;
  AtEvent at_event_;
};

Extensions listening(Words& heard, const plan::RunPlan& plan, Listener::AtEvent at_event = {}, int rank = 0) {
  Extensions extensions;
  extensions.callbacks.push_back(
      plugin_callback(kPart, "Listener", std::make_unique<Listener>(heard, std::move(at_event)), plan, rank));
  return extensions;
}

Seen train_with(const plan::RunPlan& plan, Extensions extensions) {
  const auto communicator = comm::make_communicator({}, comm::builtin_backends());
  return testing::train(plan, *communicator, {}, std::move(extensions));
}

// Cross-entropy of the next token, as anybody would write it from the logits.
at::Tensor next_token_loss(const plugin::LossInput& input) {
  const int64_t next = input.labels.size(1) - 1;
  const at::Tensor labels = input.labels.narrow(1, 1, next).reshape({-1, 1});
  const at::Tensor all = input.logits();
  const at::Tensor logits = all.narrow(1, 0, next).reshape({-1, all.size(-1)});
  return -logits.log_softmax(-1).gather(1, labels).sum() / input.num_items;
}

}  // namespace

TEST_CASE("a callback hears every event in the order of the Trainer") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 4);
  plan.batch.per_device_train = 1;
  plan.batch.accumulation_steps = 2;
  plan.steps.max_steps = 2;
  plan.evaluation.interval = {"steps", 2};
  plan.saving.interval = {"steps", 2};
  plan.data.test = plan.data.validation;
  plan.do_predict = true;
  Words heard;
  train_with(plan, listening(heard, plan));
  const Words update = {"step_begin", "substep_end", "pre", "optimizer", "step_end", "log grad_norm"};
  Words wanted = {"init_end", "train_begin", "epoch_begin"};
  wanted.insert(wanted.end(), update.begin(), update.end());
  wanted.insert(wanted.end(), update.begin(), update.end());
  for (const char* event :
       {"prediction", "prediction", "log eval_loss", "evaluate eval_loss", "save", "epoch_end",
        "log total_flos", "train_end", "prediction", "prediction", "predict predict_loss"})
    wanted.emplace_back(event);
  CHECK(heard == wanted);
}

TEST_CASE("a callback sees the flags as the Trainer's handler leaves them") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 4);
  plan.steps.max_steps = 2;
  plan.evaluation.on_start = true;
  plan.evaluation.interval = {"steps", 2};
  plan.saving.interval = {"steps", 2};
  for (const bool asynchronous : {false, true}) {
    INFO("asynchronous " << asynchronous);
    plan.saving.asynchronous = asynchronous;
    plan.output_dir = folder.path() + (asynchronous ? "/later" : "/at_once");
    Words heard, seen;
    train_with(
        plan, listening(heard, plan, [&](const std::string& event, const auto& state, const auto& control) {
          const std::string flags = std::string(control.should_log ? "l" : "") +
                                    (control.should_evaluate ? "e" : "") + (control.should_save ? "s" : "");
          if (state.global_step == 0 || state.global_step == 2) seen.push_back(event + ' ' + flags);
        }));
    const auto saw = [&](const char* words) { return std::count(seen.begin(), seen.end(), words); };
    CHECK(saw("log eval_loss ") == 1);    // before the first update
    CHECK(saw("log eval_loss es") == 1);  // at the second
    CHECK(saw("evaluate eval_loss s") == 1);
    CHECK(saw("save ") == 1);
  }
}

TEST_CASE("a callback has the last word at the end of an epoch") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.logging.interval = {"epoch", 0};
  plan.steps.max_steps = 4;
  const auto logged = [](const Words& heard) {
    return std::count(heard.begin(), heard.end(), "log grad_norm");
  };
  Words with, without;
  train_with(plan, listening(with, plan));
  plan.output_dir = folder.path() + "/silent";
  train_with(plan, listening(without, plan, [](const std::string& event, const auto&, auto& control) {
               if (event == "epoch_end") control.should_log = false;
             }));
  CHECK(logged(with) > 0);
  CHECK(logged(without) == 0);
}

TEST_CASE("a callback may log, save, evaluate and stop where no interval does") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.logging.interval = {};
  plan.steps.max_steps = 10;
  Words heard;
  const Seen seen = train_with(
      plan, listening(heard, plan,
                      [](const std::string& event, const plugin::State& state, plugin::Control& control) {
                        if (event != "step_end") return;
                        control.should_log = state.global_step == 2;
                        control.should_evaluate = control.should_save = state.global_step == 3;
                        control.should_training_stop = state.global_step == 5;
                      }));
  CHECK(seen.logged == std::vector<int64_t>{2});
  CHECK(seen.evaluated == std::vector<int64_t>{3});
  CHECK(seen.saved == std::vector<int64_t>{3});
  CHECK(seen.steps == 5);
}

TEST_CASE("what a callback keeps comes back with a checkpoint") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.saving.interval = {"steps", 2};
  Words heard;
  train_with(plan, listening(heard, plan));
  const Json file = read_json_file(plan.output_dir + "/checkpoint-2/trainer_state.json");
  const std::string kept = file["stateful_callbacks"]["Listener"]["attributes"]["state"];
  CHECK(std::stoi(kept) > 5);
  plan.saving.resume_from = plan.output_dir + "/checkpoint-2";
  plan.saving.restore_callbacks = true;
  Words again;
  train_with(plan, listening(again, plan));
  CHECK(again.front() == "state " + kept);
}

TEST_CASE("what a callback throws names the plug-in, the callback and the event") {
  const TemporaryDirectory folder;
  const plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  Words heard;
  Extensions extensions =
      listening(heard, plan, [](const std::string& event, const plugin::State&, plugin::Control&) {
        if (event == "pre") throw std::out_of_range("there is no item 7");
      });
  try {
    train_with(plan, std::move(extensions));
    FAIL("it did not end the run");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kInternal);
    CHECK(error.diagnostics().front().what == "the plug-in 'mine' has failed");
    CHECK(error.diagnostics().front().where == "the callback 'listener', on_pre_optimizer_step, /p/mine.so");
    CHECK(error.diagnostics().front().why == "there is no item 7");
  }
}

TEST_CASE("a loss from the logits trains and evaluates in the place of the model's") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.batch.per_device_train = 1;
  plan.batch.accumulation_steps = 2;
  plan.evaluation.interval = {"steps", 2};
  const Seen of_model = testing::train(plan);
  Extensions extensions;
  extensions.loss = plugin_loss(kPart, next_token_loss);
  const Seen same = train_with(plan, std::move(extensions));
  extensions.loss =
      plugin_loss(kPart, [](const plugin::LossInput& input) { return 3 * next_token_loss(input).view({1}); });
  const Seen other = train_with(plan, std::move(extensions));
  REQUIRE(same.losses.size() == of_model.losses.size());
  for (size_t i = 0; i < same.losses.size(); ++i)
    CHECK(same.losses[i] == Approx(of_model.losses[i]).epsilon(1e-5));
  CHECK(same.eval_losses.back() == Approx(of_model.eval_losses.back()).epsilon(1e-5));
  CHECK(other.losses.front() == Approx(3 * of_model.losses.front()).epsilon(1e-5));
  CHECK(other.losses[1] != Approx(3 * of_model.losses[1]).epsilon(1e-5));  // its gradients are its own
}

TEST_CASE("a loss that adds nothing to the model's own changes no bit") {
  const TemporaryDirectory folder;
  const plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  const Seen of_model = testing::train(plan);
  Extensions extensions;
  extensions.loss = plugin_loss(kPart, [](const plugin::LossInput& input) { return input.model_loss(); });
  CHECK(train_with(plan, std::move(extensions)).losses == of_model.losses);
}

TEST_CASE("a loss that is no float32 scalar is refused in words") {
  const TemporaryDirectory folder;
  const plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  Extensions extensions;
  extensions.loss = plugin_loss(kPart, [](const plugin::LossInput& input) { return input.logits(); });
  try {
    train_with(plan, std::move(extensions));
    FAIL("it did not end the run");
  } catch (const Error& error) {
    CHECK(error.diagnostics().front().why == "its loss is no float32 scalar: it has 156 numbers of Float");
  }
}

TEST_CASE("a loss from which no gradient flows is refused in words, recomputed or not") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.model.gradient_checkpointing = GENERATE(false, true);
  Extensions extensions;
  extensions.loss =
      plugin_loss(kPart, [](const plugin::LossInput& input) { return input.model_loss().detach(); });
  try {
    train_with(plan, std::move(extensions));
    FAIL("it did not end the run");
  } catch (const Error& error) {
    const Diagnostic& told = error.diagnostics().front();
    CHECK(error.code() == ExitCode::kInternal);
    CHECK(told.what == "the plug-in 'mine' has failed");
    CHECK(told.why.starts_with("no gradient flows from its loss to the model"));
    CHECK(told.hint == "mend it, or train without it");
  }
}

namespace {

// As resolve() would plan it for ranks that share an output folder.
plan::RunPlan plan_of_rank(const Rank& rank) {
  const std::string folder = Environment::of_process().get_or("EXTENSIONS_FOLDER", "");
  plan::RunPlan plan = tiny_plan(folder + "/rank-" + std::to_string(rank.rank()), "out", 12);
  plan.strategy.name = "ddp";
  plan.ranks.world_size = rank.world_size();
  plan.ranks.ranks.resize(static_cast<size_t>(rank.world_size()));
  for (int i = 0; i < rank.world_size(); ++i) plan.ranks.ranks[static_cast<size_t>(i)].rank = i;
  plan.output_dir = folder + "/out";
  plan.logging.interval = {};
  return plan;
}

// A rank wants to stop when a save has ended, and that may be when the next one is about to begin.
const RankBody kOneStops("one rank's callback stops between two saves", [](const Rank& rank) {
  const auto group = rank.connect();
  plan::RunPlan plan = plan_of_rank(rank);
  plan.saving.interval = {"steps", 1};
  plan.saving.asynchronous = true;
  plan.steps.max_steps = 40;
  Words heard;
  const bool decides = rank.rank() == 1;
  const Seen seen = testing::train(
      plan, *group, {},
      listening(heard, plan,
                [decides](const std::string& event, const plugin::State& state, plugin::Control& control) {
                  if (decides && event == "save" && state.global_step >= 2)
                    control.should_training_stop = true;
                }));
  CHECK(seen.steps >= 2);
  CHECK(seen.steps < 40);
  CHECK(seen.saved.back() == seen.steps);
});

const RankBody kOneDecides("one rank's callback decides for all", [](const Rank& rank) {
  const auto group = rank.connect();
  plan::RunPlan plan = plan_of_rank(rank);
  plan.steps.max_steps = 40;
  Words heard;
  const bool decides = rank.rank() == 1;
  const Seen seen = testing::train(
      plan, *group, {},
      listening(heard, plan,
                [decides](const std::string& event, const plugin::State& state, plugin::Control& control) {
                  if (!decides) return;
                  if (event == "optimizer" && state.global_step == 1) control.should_evaluate = true;
                  if (event.starts_with("evaluate")) control.should_save = true;
                  if (event == "save") control.should_log = true;  // the save is over: of no effect
                  if (event == "step_begin" && state.global_step == 4) control.should_epoch_stop = true;
                  if (event == "epoch_begin" && state.global_step == 5) control.should_training_stop = true;
                }));
  CHECK(seen.steps == 5);
  CHECK(seen.evaluated == std::vector<int64_t>{2});
  CHECK(seen.saved == std::vector<int64_t>{2});
  CHECK(seen.logged.empty());
  CHECK(std::count(heard.begin(), heard.end(), "epoch_end") >= 2);
});

}  // namespace

TEST_CASE("what the callback of one rank asks for, all ranks do", "[process]") {
  const TemporaryDirectory folder;
  create_directories(folder / "out/hftrain");
  ::setenv("EXTENSIONS_FOLDER", folder.path().c_str(), 1);
  require_success(testing::run_ranks("one rank's callback decides for all", 3));
}

TEST_CASE("ranks whose callback stops in a save all save the last step", "[process]") {
  const TemporaryDirectory folder;
  create_directories(folder / "out/hftrain");
  ::setenv("EXTENSIONS_FOLDER", folder.path().c_str(), 1);
  require_success(testing::run_ranks("one rank's callback stops between two saves", 3));
}

}  // namespace hftrain::trainer
