// Whole trainings of a tiny model in this process: when they stop, log, evaluate and save, and how they go
// on.
#include "hftrain/trainer/trainer.h"

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "comm/rank_processes.h"
#include "hftrain/base/environment.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/reporting/search_trial.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/stored_weights.h"
#include "hftrain/trainer/state_file.h"
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
using Steps = std::vector<int64_t>;

Steps checkpoints_in(const std::string& output) {
  Steps steps;
  for (const storage::CheckpointInfo& checkpoint : storage::list_checkpoints(output))
    steps.push_back(checkpoint.step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string model_in(const plan::RunPlan& plan) {
  return read_file(plan.output_dir + "/model.safetensors");
}

void check_close(const std::vector<double>& found, const std::vector<double>& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(wanted[i]).epsilon(1e-5));
}

}  // namespace

TEST_CASE("a run makes max_steps updates, over as many epochs as that takes") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 7);  // 4 batches an epoch
  plan.steps.max_steps = 10;
  const Seen seen = testing::train(plan);
  CHECK(seen.steps == 10);
  CHECK(seen.begun == Steps{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(seen.epochs == 3);
  CHECK(seen.state.epoch == Approx(2.5));
  CHECK(seen.outcome.code == ExitCode::kDone);
  CHECK(seen.outcome.reason == "finished");
  CHECK(seen.losses.back() < seen.losses.front());
}

TEST_CASE("a run that counts epochs ends with the last one") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 7);
  plan.steps = {.max_steps = 100, .epochs = 2, .limited_by_steps = false};
  CHECK(testing::train(plan).steps == 8);
}

TEST_CASE("the last group of an epoch may hold fewer micro-batches than are accumulated") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 7);
  plan.batch.accumulation_steps = 3;  // 3 and 1 of the 4 batches
  const Seen seen = testing::train(plan);
  CHECK(seen.steps == 4);
  CHECK(seen.substeps == 2 * 2);
  CHECK(seen.epochs == 2);
}

TEST_CASE("accumulation gives the losses and the model of one big batch") {
  const TemporaryDirectory folder;
  plan::RunPlan once = tiny_plan(folder.path(), "once", 12), parts = tiny_plan(folder.path(), "parts", 12);
  once.batch.per_device_train = 6;
  parts.batch.accumulation_steps = 3;
  once.steps.max_steps = parts.steps.max_steps = 5;
  const Seen whole = testing::train(once), accumulated = testing::train(parts);
  check_close(accumulated.losses, whole.losses);
  CHECK(accumulated.losses.front() != Approx(accumulated.losses.back()));
}

TEST_CASE("logging, evaluation and saves come at their intervals, and the last update evaluates and saves") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps.max_steps = 7;
  plan.logging.interval = {"steps", 4};
  plan.evaluation.interval = {"steps", 2};
  plan.saving.interval = {"steps", 3};
  const Seen seen = testing::train(plan);
  CHECK(seen.logged == Steps{4});
  CHECK(seen.evaluated == Steps{2, 4, 6, 7});
  CHECK(seen.saved == Steps{3, 6, 7});
  CHECK(checkpoints_in(plan.output_dir) == Steps{3, 6, 7});
  CHECK(seen.eval_losses.back() < seen.eval_losses.front());
}

TEST_CASE("with the strategy epoch all come at the end of epochs") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);  // 4 batches an epoch
  plan.steps.max_steps = 10;
  plan.logging.interval = plan.evaluation.interval = plan.saving.interval = {"epoch", 0};
  const Seen seen = testing::train(plan);
  CHECK(seen.logged == Steps{4, 8, 10});
  CHECK(seen.evaluated == Steps{4, 8, 10});
  CHECK(seen.saved == Steps{4, 8, 10});
}

TEST_CASE("a logged loss is the mean over the updates since the last one that was logged") {
  const TemporaryDirectory folder;
  plan::RunPlan each = tiny_plan(folder.path(), "each", 8), some = tiny_plan(folder.path(), "some", 8);
  some.logging.interval = {"steps", 2};
  const Seen single = testing::train(each), pairs = testing::train(some);
  REQUIRE(single.losses.size() == 4);
  check_close(pairs.losses,
              {(single.losses[0] + single.losses[1]) / 2, (single.losses[2] + single.losses[3]) / 2});
}

TEST_CASE("norms decay where the plan says that all parameters do, and are left alone otherwise") {
  const TemporaryDirectory folder;
  // An update of AdamW at this rate takes a tenth of what decays, and moves no number by more than the rate beside it.
  const auto weights_of_norms = [&](const std::string& output, bool decays_all) {
    plan::RunPlan plan = tiny_plan(folder.path(), output, 4);
    plan.optimizer = {
        .name = "adamw_torch", .learning_rate = 1e-3, .weight_decay = 100, .decays_all = decays_all};
    plan.steps.max_steps = 1;
    testing::train(plan);
    std::vector<float> ones;
    const storage::StoredWeights weights(plan.output_dir);
    for (const storage::TensorEntry& entry : weights.entries()) {
      if (entry.shape.size() != 1 || !entry.name.ends_with(".weight")) continue;
      std::vector<float> values(entry.elements());
      weights.read(entry.name, {{0}, entry.shape}, {reinterpret_cast<char*>(values.data()), entry.bytes()});
      ones.insert(ones.end(), values.begin(), values.end());
    }
    return ones;
  };
  for (const bool decays_all : {false, true}) {
    const std::vector<float> ones = weights_of_norms(decays_all ? "all" : "some", decays_all);
    REQUIRE_FALSE(ones.empty());
    for (const float one : ones) CHECK(std::abs(one - (decays_all ? 0.9F : 1.0F)) < 2e-3F);
  }
}

TEST_CASE("a callback ends the run after the update at which it asks for that") {
  const TemporaryDirectory folder;
  const plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  const Seen seen = testing::train(plan, [](const State& state, Control& control) {
    if (state.global_step == 2) control.should_training_stop = true;
  });
  CHECK(seen.steps == 2);
  CHECK(seen.outcome.reason == "early stopping");
  CHECK(std::filesystem::exists(plan.output_dir + "/model.safetensors"));
}

TEST_CASE("a callback that ends an epoch goes on with the next one from its start") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps.max_steps = 3;
  const Seen seen = testing::train(plan, [](const State& state, Control& control) {
    if (state.global_step == 1) control.should_epoch_stop = true;
  });
  CHECK(seen.steps == 3);
  CHECK(seen.epochs == 2);
  CHECK(seen.state.position.batch == 2);
}

TEST_CASE("a resumed run has the updates, losses and bytes of one that never stopped") {
  // In an epoch, at its end, after its end.
  const auto [shuffled, stopped_at] =
      GENERATE(std::pair(true, int64_t{3}), std::pair(false, int64_t{4}), std::pair(true, int64_t{5}));
  const TemporaryDirectory folder;
  plan::RunPlan straight = tiny_plan(folder.path(), "straight", 8);
  straight.data.sampling = shuffled ? "random" : "sequential";
  straight.steps.max_steps = 7;
  straight.saving.interval = {"steps", 1};
  straight.optimizer.name = "adamw_torch_fused";
  straight.optimizer.learning_rate = 0.01;
  straight.schedule.name = "cosine";
  straight.model.config["resid_pdrop"] = 0.3;  // random numbers that must go on too
  const Seen whole = testing::train(straight);
  plan::RunPlan resumed = straight;
  resumed.output_dir = folder / "resumed";
  create_directories(resumed.output_dir + "/hftrain");
  resumed.saving.resume_from = storage::checkpoint_path(straight.output_dir, stopped_at);
  const Seen rest = testing::train(resumed);
  CHECK(rest.begun.front() == stopped_at);
  CHECK(rest.steps == 7 - stopped_at);
  CHECK(rest.losses == std::vector<double>(whole.losses.begin() + stopped_at, whole.losses.end()));
  CHECK(rest.rates == std::vector<double>(whole.rates.begin() + stopped_at, whole.rates.end()));
  CHECK(model_in(resumed) == model_in(straight));
}

TEST_CASE("a resume that ignores the data it has skipped begins its epoch again") {
  const TemporaryDirectory folder;
  plan::RunPlan straight = tiny_plan(folder.path(), "straight", 8);
  straight.steps.max_steps = 3;
  straight.saving.interval = {"steps", 1};
  testing::train(straight);
  plan::RunPlan resumed = tiny_plan(folder.path(), "resumed", 8);
  resumed.saving.resume_from = storage::checkpoint_path(straight.output_dir, 2);
  resumed.data.ignore_data_skip = true;
  resumed.steps.max_steps = 3;
  CHECK(testing::train(resumed).state.position.batch == 1);
}

namespace {

// The plan that goes on from checkpoint-`step` of `plan`, in a folder of its own.
plan::RunPlan going_on(const plan::RunPlan& plan, int64_t step, const std::string& folder) {
  plan::RunPlan resumed = plan;
  resumed.output_dir = folder;
  create_directories(folder + "/hftrain");
  resumed.saving.resume_from = storage::checkpoint_path(plan.output_dir, step);
  return resumed;
}

void flip_a_byte(const std::string& path) {
  std::string bytes = read_file(path);
  bytes[bytes.size() - 3] ^= 1;
  write_file_atomically(path, bytes);
}

Json control_in(const std::string& checkpoint) {
  return read_json_file(checkpoint + "/trainer_state.json")["stateful_callbacks"]["TrainerControl"]["args"];
}

}  // namespace

TEST_CASE(
    "the run's own trainer_state.json has the flags of the last save, and of none those of a beginning") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps.max_steps = 4;
  plan.saving.interval = {"steps", 2};
  testing::train(plan);
  CHECK(control_in(plan.output_dir) == control_in(plan.output_dir + "/checkpoint-4"));
  CHECK(control_in(plan.output_dir)["should_save"] == true);
  CHECK(control_in(plan.output_dir)["should_training_stop"] == true);
  plan.saving.interval = {"no", 0};
  plan.output_dir = folder / "unsaved";
  create_directories(plan.output_dir + "/hftrain");
  testing::train(plan);
  const Json unsaved = control_in(plan.output_dir);
  CHECK(unsaved.size() == 5);
  for (const auto& [name, flag] : unsaved.items()) CHECK(flag == false);
}

TEST_CASE("a resume at the last update ends the epoch that ends with it, once") {
  const int64_t last = GENERATE(3, 4);  // in an epoch, at its end
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps.max_steps = last;
  plan.logging.interval = plan.evaluation.interval = {"epoch", 0};
  plan.saving.interval = {"steps", last};
  const Seen straight = testing::train(plan);
  REQUIRE(straight.logged == Steps{last});
  const Seen resumed = testing::train(going_on(plan, last, folder / "resumed"));
  CHECK(resumed.steps == 0);
  CHECK(resumed.logged == straight.logged);
  CHECK(resumed.losses == straight.losses);
  CHECK(resumed.rates == straight.rates);
  CHECK(resumed.norms == straight.norms);
  CHECK(resumed.eval_losses == straight.eval_losses);
  CHECK(resumed.outcome.reason == "finished");
  // One that was saved at the end of the epoch has all of that behind it.
  plan.saving.interval = {"epoch", 0};
  plan.output_dir = folder / "by-epoch";
  create_directories(plan.output_dir + "/hftrain");
  testing::train(plan);
  const Seen after = testing::train(going_on(plan, last, folder / "after"));
  CHECK(after.logged.empty());
  CHECK(after.evaluated.empty());
}

TEST_CASE("a resume between the last update of an epoch and its end logs what that update was") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps.max_steps = 8;
  plan.logging.interval = {"epoch", 0};
  plan.saving.interval = {"steps", 4};
  const Seen straight = testing::train(plan);
  const Seen resumed = testing::train(going_on(plan, 4, folder / "resumed"));
  CHECK(resumed.logged == Steps{4, 8});
  CHECK(resumed.norms == straight.norms);
  CHECK(resumed.rates == straight.rates);
  CHECK(resumed.norms.front() > 0);
}

TEST_CASE("a resume at the end of an epoch does not repeat it, even where the data skipped are ignored") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps = {.max_steps = 12, .epochs = 3, .limited_by_steps = false};
  plan.saving.interval = {"steps", 4};
  testing::train(plan);
  plan::RunPlan again = going_on(plan, 4, folder / "resumed");
  again.data.ignore_data_skip = true;
  const Seen resumed = testing::train(again);
  CHECK(resumed.steps == 8);
  CHECK(resumed.state.epoch == Approx(3));
}

// Of a run of 2 epochs in 8 updates, at its fourth: it counts on 16, and is through with its epochs after 12.
static plan::RunPlan going_on_with_half_the_batch(const TemporaryDirectory& folder) {
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps = {.max_steps = 8, .epochs = 2, .limited_by_steps = false};
  plan.saving.interval = {"steps", 4};
  testing::train(plan);
  plan::RunPlan halved = going_on(plan, 4, folder / "resumed");
  halved.batch.per_device_train = 1;
  halved.steps.max_steps = 16;
  return halved;
}

TEST_CASE("a run that ends with its epochs before the updates it counted on has not stopped early") {
  const TemporaryDirectory folder;
  plan::RunPlan halved = going_on_with_half_the_batch(folder);
  const Seen resumed = testing::train(halved);
  CHECK(resumed.state.global_step == 12);
  CHECK(resumed.state.epoch == Approx(2));
  CHECK(resumed.outcome.reason == "finished");
}

TEST_CASE("where epochs end before the updates that were counted on, the last update evaluates and saves") {
  const TemporaryDirectory folder;
  plan::RunPlan halved = going_on_with_half_the_batch(folder);
  halved.evaluation.interval = halved.saving.interval = {"steps", 5};
  const Seen resumed = testing::train(halved);
  CHECK(resumed.evaluated == Steps{5, 10, 12});
  CHECK(resumed.saved == Steps{5, 10, 12});
  // What was done is not done again.
  const Seen again = testing::train(going_on(halved, 12, folder / "again"));
  CHECK(again.steps == 0);
  CHECK(again.evaluated == Steps{});
  halved.evaluation.interval = halved.saving.interval = {"steps", 6};
  CHECK(testing::train(going_on(halved, 5, folder / "multiple")).evaluated == Steps{6, 12});
}

TEST_CASE("a resumed run keeps its learning rate whatever the flag says now") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.saving.interval = {"steps", 2};
  plan.schedule.name = "linear";
  const Seen straight = testing::train(plan);
  plan::RunPlan other = going_on(plan, 2, folder / "resumed");
  other.optimizer.learning_rate = 1;
  CHECK(testing::train(other).rates == std::vector<double>(straight.rates.begin() + 2, straight.rates.end()));
}

TEST_CASE("a checkpoint of the model alone goes on at its step, with a schedule that begins anew") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps.max_steps = 8;
  plan.steps.batches_per_epoch = 4;
  plan.saving.interval = {"steps", 2};
  plan.saving.only_model = true;  // the optimizer is SGD, which remembers nothing
  const Seen straight = testing::train(plan);
  for (const int64_t step : {2, 4, 6}) {
    const Seen resumed = testing::train(going_on(plan, step, folder / std::to_string(step)));
    CHECK(resumed.begun.front() == step);
    CHECK(resumed.steps == 8 - step);
    check_close(resumed.losses, {straight.losses.begin() + step, straight.losses.end()});
    CHECK(resumed.state.epoch == straight.state.epoch);
  }
  plan.schedule.name = "linear";
  const Seen resumed = testing::train(going_on(plan, 4, folder / "linear"));
  CHECK(resumed.rates.front() == 0.1);
}

TEST_CASE("flags of a saved state are those of transformers at that moment") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.logging.interval = plan.evaluation.interval = plan.saving.interval = {"steps", 2};
  plan.evaluation.metric_for_best_model = "eval_loss";
  testing::train(plan);
  for (const int64_t step : {2, 4}) {
    const Json control = control_in(storage::checkpoint_path(plan.output_dir, step));
    CHECK_FALSE(control["should_log"].get<bool>());
    CHECK_FALSE(control["should_evaluate"].get<bool>());
    CHECK(control["should_save"].get<bool>());
    CHECK(control["should_training_stop"].get<bool>() == (step == 4));
  }
  CHECK(read_json_file(plan.output_dir + "/trainer_state.json")["best_global_step"] == 4);
  plan.saving.interval = {"no", 0};
  testing::train(plan);
  const Json unsaved = read_json_file(plan.output_dir + "/trainer_state.json");
  CHECK(unsaved["best_global_step"].is_null());
  CHECK(unsaved["best_metric"].is_number());
}

TEST_CASE("trainer_state.json of a search's trial says which one it is, and of any other run nothing") {
  const auto state_in = [](const Environment& environment) {
    return Json::parse(trainer_state_text(tiny_plan(), {}, {}, {}, {}, environment));
  };
  Environment environment;
  const Json alone = state_in(environment);
  CHECK(alone["is_hyper_param_search"] == false);
  CHECK((alone["trial_name"].is_null() && alone["trial_params"].is_null()));
  reporting::tell_trial({"trial-3", {{"learning_rate", 1e-4}, {"optim", "sgd"}}}, environment);
  const Json trial = state_in(environment);
  CHECK(trial["is_hyper_param_search"] == true);
  CHECK(trial["trial_name"] == "trial-3");
  CHECK(trial["trial_params"] == Json({{"learning_rate", 1e-4}, {"optim", "sgd"}}));
  for (const char* other : {"", "3", "{\"name\": 3}"}) {
    environment.set("HFTRAIN_TRIAL", other);
    CHECK(state_in(environment) == alone);
  }
}

TEST_CASE("an evaluation that gives no number is not the best one") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps.max_steps = 3;
  plan.optimizer.learning_rate = 1e38;
  plan.evaluation.interval = plan.saving.interval = {"steps", 1};
  plan.evaluation.metric_for_best_model = "eval_loss";
  const Seen seen = testing::train(plan);
  REQUIRE(std::isnan(seen.eval_losses.front()));
  CHECK(seen.state.best_metric == std::numeric_limits<double>::infinity());
  CHECK(seen.state.best_checkpoint.empty());
}

TEST_CASE("at the end the newest checkpoint makes room for the best one only when that one is sound") {
  const bool damaged = GENERATE(false, true), loads = GENERATE(false, true);
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps.max_steps = 6;
  plan.evaluation.interval = plan.saving.interval = {"steps", 2};
  plan.evaluation.metric_for_best_model = "eval_loss";
  plan.evaluation.greater_is_better = true;  // the first is the best
  plan.evaluation.load_best_at_end = loads;
  plan.saving.total_limit = 1;
  testing::train(plan, [&](const State& state, Control&) {
    const std::string best = storage::checkpoint_path(plan.output_dir, 2);
    if (damaged && state.global_step == 5) flip_a_byte(best + "/model.safetensors");
  });
  CHECK(checkpoints_in(plan.output_dir) == (damaged ? Steps{2, 6} : Steps{2}));
}

TEST_CASE("five updates in a row that are not finite end the run, and no checkpoint is made of them") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps.max_steps = 20;
  plan.optimizer.learning_rate = 1e38;  // the first update ruins the parameters
  plan.saving.interval = {"steps", 1};
  Steps ended;
  try {
    testing::train(plan, [&](const State& state, Control&) { ended.push_back(state.global_step); });
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDiverged);
    CHECK(error.diagnostics().front().where == "step 6");
  }
  CHECK(ended == Steps{1, 2, 3, 4, 5});
  CHECK(checkpoints_in(plan.output_dir) == Steps{1});
}

TEST_CASE("only so many checkpoints as the limit says are left") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps.max_steps = 6;
  plan.saving.interval = {"steps", 1};
  plan.saving.total_limit = 2;
  testing::train(plan);
  CHECK(checkpoints_in(plan.output_dir) == Steps{5, 6});
}

TEST_CASE("early stopping ends a run whose evaluations do not get better") {
  const TemporaryDirectory folder;
  plan::RunPlan plan = tiny_plan(folder.path(), "out", 8);
  plan.steps.max_steps = 20;
  plan.optimizer.learning_rate = 0;
  plan.evaluation.interval = {"steps", 2};
  plan.evaluation.metric_for_best_model = "eval_loss";
  plan.evaluation.early_stopping_patience = 2;
  plan.saving.interval = {"steps", 100};
  const Seen seen = testing::train(plan);
  CHECK(seen.evaluated == Steps{2, 4, 6});
  CHECK(seen.outcome.reason == "early stopping");
  CHECK(seen.state.best_step == 2);
}

namespace {

const RankBody kTrains("trains a tiny model", [](const Rank& rank) {
  const std::string folder = Environment::of_process().get_or("TINY_FOLDER", "");
  const auto group = rank.connect();
  plan::RunPlan plan = tiny_plan(folder + "/rank-" + std::to_string(rank.rank()), "out", 12);
  plan.batch.accumulation_steps = 2;
  plan.strategy.name = "ddp";
  plan.ranks.world_size = rank.world_size();
  plan.ranks.ranks.resize(static_cast<size_t>(rank.world_size()));
  for (int i = 0; i < rank.world_size(); ++i) plan.ranks.ranks[static_cast<size_t>(i)].rank = i;
  plan.output_dir = folder + "/out";
  const Seen seen = testing::train(plan, *group);
  plan::RunPlan whole = tiny_plan(folder + "/alone-" + std::to_string(rank.rank()), "out", 12);
  whole.batch.per_device_train = 4 * rank.world_size();
  const Seen alone = testing::train(whole);
  check_close(seen.losses, alone.losses);
});

std::string said_of_random_numbers(const Seen& seen) {
  std::string said;
  for (const std::string& message : seen.messages) {
    if (message.find("random numbers of") != std::string::npos) said += message;
  }
  return said;
}

// A folder as transformers' Trainer leaves it, of what a run kept for it.
void make_trainers(const std::string& checkpoint) {
  for (const char* ours : {"manifest.json", "hftrain_state.json", "optimizer", "rng"})
    std::filesystem::remove_all(checkpoint + '/' + ours);
}

const RankBody kMoreRanks("more ranks go on than have saved", [](const Rank& rank) {
  const std::string folder = Environment::of_process().get_or("TINY_FOLDER", "");
  const auto group = rank.connect();
  plan::RunPlan alone = tiny_plan(folder + "/rank-" + std::to_string(rank.rank()), "saved", 12);
  alone.optimizer.name = "adamw_torch";
  alone.saving.interval = {"steps", 2};
  alone.saving.for_trainer = true;
  testing::train(alone);
  plan::RunPlan together = alone;
  together.strategy.name = "ddp";
  together.ranks.world_size = rank.world_size();
  together.ranks.ranks.resize(static_cast<size_t>(rank.world_size()));
  for (int i = 0; i < rank.world_size(); ++i) together.ranks.ranks[static_cast<size_t>(i)].rank = i;
  together.output_dir = folder + "/out";
  together.saving.resume_from = storage::checkpoint_path(alone.output_dir, 2);
  const auto said = [&] { return said_of_random_numbers(testing::train(together, *group)); };
  const std::string ours = said();
  const bool speaks = rank.rank() == 0;
  CHECK((ours.find("no random numbers of ranks 1 to 2, where they begin anew") != std::string::npos) ==
        speaks);
  CHECK(ours.empty() == !speaks);
  // The run that they have saved together has those of all.
  together.saving.resume_from = storage::checkpoint_path(together.output_dir, 4);
  together.steps.max_steps = 5;
  CHECK(said().empty());
  // The highest rank's file is lost: nothing in the folder tells.
  if (speaks) make_trainers(together.saving.resume_from);
  if (speaks) std::filesystem::remove(together.saving.resume_from + "/rng_state_2.pth");
  group->maximum(0);
  const std::string trainers = said();
  CHECK((trainers.find("no random numbers of rank 2, where they begin anew") != std::string::npos) == speaks);
  CHECK((trainers.find("rng_state_<rank>.pth are lost") != std::string::npos) == speaks);
});

}  // namespace

TEST_CASE("ranks whose random numbers a checkpoint does not have are told", "[process]") {
  const TemporaryDirectory folder;
  create_directories(folder / "out/hftrain");
  ::setenv("TINY_FOLDER", folder.path().c_str(), 1);
  require_success(testing::run_ranks("more ranks go on than have saved", 3));
}

TEST_CASE("ranks that accumulate have the losses of one rank with one big batch", "[process]") {
  const TemporaryDirectory folder;
  create_directories(folder / "out/hftrain");
  ::setenv("TINY_FOLDER", folder.path().c_str(), 1);
  require_success(testing::run_ranks("trains a tiny model", 3));
}

}  // namespace hftrain::trainer
