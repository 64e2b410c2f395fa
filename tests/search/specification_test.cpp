#include "hftrain/search/specification.h"

#include <cmath>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::search {
namespace {

std::vector<std::string> mistakes(const std::string& text) {
  std::vector<std::string> words;
  try {
    read_specification(text, "search.yaml");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      CHECK_FALSE(diagnostic.hint.empty());
      words.push_back(diagnostic.where + ": " + diagnostic.what);
    }
  }
  return words;
}

TEST_CASE("what is proposed for a word in the place of a number is taken", "[search]") {
  const std::string space = "space:\n  learning_rate: {choices: [1e-3]}\n";
  for (const char* key : {"trials", "parallel", "seed"}) {
    try {
      read_specification(space + key + ": many\n", "search.yaml");
      FAIL(key << " takes a word");
    } catch (const Error& error) {
      INFO(error.render());
      CHECK(mistakes(space + error.diagnostics().front().hint + '\n').empty());
    }
  }
}

TEST_CASE("a search is read with its defaults", "[search]") {
  const Specification read = read_specification(
      "space:\n  learning_rate: {low: 1e-5, high: 1e-2, log: true}\n  optim: {choices: [adamw_torch, sgd]}\n"
      "  num_train_epochs: {low: 1, high: 6, step: 2}\n  bf16: {choices: [true, false]}\n",
      "search.yaml");
  CHECK(read.method == Method::kTpe);
  CHECK(read.trials == 20);
  CHECK(read.metric == "eval_loss");
  CHECK_FALSE(read.greater_is_better);
  CHECK(read.parallel == 1);
  CHECK(read.seed == 42);
  REQUIRE(read.space.size() == 4);
  CHECK(read.space[0].flag == "bf16");
  CHECK(read.space[0].choices == std::vector<Json>{true, false});
  CHECK(read.space[1].flag == "learning_rate");
  CHECK(read.space[1].log);
  CHECK(read.space[2].count() == 3);
  CHECK(read.space[2].value_number(2) == Json(5));
  CHECK(read_specification("{space: {seed: {choices: [1]}}, metric: eval_f1}", "x").greater_is_better);
  CHECK_FALSE(
      read_specification("{space: {seed: {choices: [1]}}, metric: eval_f1, greater_is_better: no}", "x")
          .greater_is_better);
}

TEST_CASE("a grid has no more trials than points", "[search]") {
  const auto count = [](const std::string& text) { return read_specification(text, "s.yaml").trial_count(); };
  const std::string space = "space: {seed: {choices: [1, 2]}, max_steps: {low: 1, high: 3, step: 1}}\n";
  CHECK(count(space + "method: grid\n") == 6);
  CHECK(count(space + "method: grid\ntrials: 4\n") == 4);
  CHECK(count(space + "method: grid\ntrials: 9\n") == 6);
  CHECK(count(space + "method: random\ntrials: 9\n") == 9);
  CHECK(count(space) == 20);
}

TEST_CASE("numbers and truth values of a search are those of YAML", "[search]") {
  const Specification read = read_specification(
      "space:\n  learning_rate: {low: 0.000_1, high: 0.001, log: on}\n  max_steps: {choices: [1_0]}\n"
      "  bf16: {choices: [on, off]}\n",
      "x");
  for (const Parameter& parameter : read.space) {
    if (parameter.flag == "learning_rate") CHECK((parameter.low == 1e-4 && parameter.log));
    if (parameter.flag == "max_steps") CHECK(parameter.choices == std::vector<Json>{10});
    if (parameter.flag == "bf16") CHECK(parameter.choices == std::vector<Json>{true, false});
  }
  CHECK(read.space.size() == 3);
}

TEST_CASE("choices mean what their flag's value means in a file") {
  const auto choices = [](const std::string& parameter) {
    return read_specification("space: {" + parameter + "}", "x").space.at(0).choices;
  };
  CHECK(choices("eval_strategy: {choices: [off, epoch]}") == std::vector<Json>{"no", "epoch"});
  CHECK(choices("save_strategy: {choices: [False, \"no\"]}") == std::vector<Json>{"no", "no"});
  CHECK(choices("run_name: {choices: [1_0, on]}") == std::vector<Json>{"1_0", "on"});
  CHECK(choices("bf16: {choices: [on, off]}") == std::vector<Json>{true, false});
  CHECK(choices("run_name: {choices: [1e3, 007, \"true\", 5]}") ==
        std::vector<Json>{"1e3", "007", "true", 5});
  CHECK(choices("max_steps: {choices: [\"1_0\", 0x10]}") == std::vector<Json>{10, 16});
  CHECK(choices("learning_rate: {choices: [1e-3]}") == std::vector<Json>{1e-3});
  CHECK(choices("report_to: {choices: [off, csv]}") == std::vector<Json>{"none", "csv"});
}

TEST_CASE("a metric is named as for metric_for_best_model: eval_ may be left out", "[search]") {
  const auto metric = [](const std::string& written) {
    return read_specification("{space: {seed: {choices: [1]}}, metric: " + written + "}", "x").metric;
  };
  CHECK(metric("accuracy") == "eval_accuracy");
  CHECK(metric("eval_accuracy") == "eval_accuracy");
  CHECK(metric("loss") == "eval_loss");
  CHECK(metric("train_loss") == "train_loss");
}

TEST_CASE("without a space a search has the Trainer's", "[search]") {
  const Space space = read_specification("trials: 3\n", "search.yaml").space;
  REQUIRE(space.size() == 4);
  CHECK(space[0].flag == "learning_rate");
  CHECK(space[0].value_at(0) == Json(1e-6));
  CHECK(space[0].value_at(0.5).get<double>() == Approx(1e-5));
  CHECK(space[0].value_at(1) == Json(1e-4));
  CHECK(space[1].flag == "num_train_epochs");
  CHECK(space[1].count() == 5);
  CHECK(space[1].value_number(4) == Json(5));
  CHECK(space[2].flag == "per_device_train_batch_size");
  CHECK(space[2].choices == std::vector<Json>{4, 8, 16, 32, 64});
  CHECK(space[3].flag == "seed");
  CHECK(space[3].count() == 40);
  CHECK(space[3].value_number(0) == Json(1));
  // A grid of it has no end: the rate has no step.
  CHECK(mistakes("method: grid\n") ==
        std::vector<std::string>{
            "search.yaml: space.learning_rate: a grid has no points between low and high"});
}

TEST_CASE("every mistake in a search is told at once, with its place", "[search]") {
  using Words = std::vector<std::string>;
  CHECK(mistakes("- a\n") == Words{"search.yaml:1:1: no mapping"});
  CHECK(mistakes("space: {}\ntrails: 3\n") ==
        Words{"search.yaml:2:9: trails: unknown key 'trails'", "search.yaml:1:8: space: nothing to search"});
  CHECK(mistakes("space:\n  adam_beta1: {low: 3, high: 1}\n  adam_beta2: {low: 0, high: 1, log: true}\n"
                 "  adam_epsilon: {low: 0, high: 1, step: 0}\n  learning_rate: {low: x, high: 1}\n"
                 "  lerning_rate: {choices: [1]}\n  optim: {choices: []}\n  output_dir: {choices: [a]}\n"
                 "  seed: 3\n  weight_decay: {low: 1}\n"
                 "trials: 0\nmethod: bayes\nparallel: 1.5\nseed: -1\ngreater_is_better: maybe\n") ==
        Words{"search.yaml:2:15: space.adam_beta1: low is above high",
              "search.yaml:3:15: space.adam_beta2: a logarithmic range that begins at 0 or below",
              "search.yaml:4:41: space.adam_epsilon.step: a step of nothing",
              "search.yaml:5:24: space.learning_rate.low: 'x' is no number",
              "search.yaml:6:17: space.lerning_rate: unknown flag 'lerning_rate'",
              "search.yaml:7:20: space.optim.choices: no list of choices",
              "search.yaml:8:15: space.output_dir: output_dir is not searched",
              "search.yaml:9:9: space.seed: no mapping",
              "search.yaml:10:17: space.weight_decay: neither choices nor a range",
              "search.yaml:12:9: method: unknown method 'bayes'",
              "search.yaml:11:9: trials: '0' is out of range",
              "search.yaml:15:20: greater_is_better: 'maybe' is neither true nor false",
              "search.yaml:13:11: parallel: '1.5' is out of range",
              "search.yaml:14:7: seed: '-1' is out of range"});
  CHECK(mistakes("{metric: [loss, accuracy], parallel: 0}") ==
        Words{"search.yaml:1:10: metric: '[\"loss\", \"accuracy\"]' is no name",
              "search.yaml:1:38: parallel: '0' is out of range"});
  CHECK(mistakes("{method: grid, space: {learning_rate: {low: 0, high: 1}}}") ==
        Words{"search.yaml:1:39: space.learning_rate: a grid has no points between low and high"});
  CHECK(mistakes("{space: {seed: {choices: [[1, 2]]}}}") ==
        Words{"search.yaml:1:27: space.seed.choices.0: a choice is no single value"});
}

TEST_CASE("values that a flag does not take stand where they are written", "[search]") {
  using Words = std::vector<std::string>;
  CHECK(mistakes("space:\n  max_steps: {choices: [x, 3]}\n  bf16: {choices: [true, perhaps]}\n"
                 "  learning_rate: {low: -1, high: 1}\n  eval_strategy: {choices: [no, now]}\n"
                 "  seed: {low: 1, high: 3}\n  train_file: {choices: [a.txt, b.txt]}\n") ==
        Words{"search.yaml:3:26: space.bf16.choices.1: bf16: 'perhaps' is not a truth value",
              "search.yaml:5:33: space.eval_strategy.choices.1: eval_strategy: 'now' is not one of no, "
              "steps, epoch",
              "search.yaml:4:24: space.learning_rate.low: learning_rate: '-1.0' is not a number >= 0",
              "search.yaml:2:25: space.max_steps.choices.0: max_steps: 'x' is not a whole number",

              "search.yaml:6:9: space.seed: seed takes whole numbers, and a range has others"});
}

TEST_CASE("a range of whole numbers is refused for what it has of others, and one number is no range",
          "[search]") {
  const auto read = [](const std::string& range) {
    return read_specification("space: {seed: " + range + "}", "search.yaml");
  };
  CHECK_REFUSED(read("{low: 1, high: 3}"), "without a step any number between low and high may be drawn");
  CHECK_REFUSED(read("{low: 1, high: 2.5, step: 0.5}"), "low, high and step are not all whole numbers");
  CHECK_REFUSED(read("{low: 1.5, high: 1.5}"), "without a step any number");
  for (const char* range :
       {"{low: 3, high: 3}", "{low: 3, high: 3, step: 0.5}", "{low: 3, high: 3, log: true}"})
    CHECK(read(range).space.front().value_at(0.7) == 3);
}

TEST_CASE("a flag is one parameter of a search by whichever name", "[search]") {
  using Words = std::vector<std::string>;
  const Space space =
      read_specification(
          "space:\n  learning-rate: {choices: [1]}\n  per_gpu_train_batch_size: {choices: [2]}\n"
          "  poly_power: {choices: [1, 2]}\n  group-by-length: {choices: [true]}\n",
          "search.yaml")
          .space;
  std::vector<std::string> names;
  for (const Parameter& parameter : space) names.push_back(parameter.flag);
  CHECK(names == Words{"group_by_length", "learning_rate", "per_device_train_batch_size", "poly_power"});
  CHECK(
      mistakes(
          "space:\n  learning-rate: {choices: [1]}\n  learning_rate: {choices: [2]}\n"
          "  no_cuda: {choices: [true]}\n  use_cpu: {choices: [false]}\n"
          "  per_device_train_batch_size: {choices: [2]}\n  per_gpu_train_batch_size: {choices: [4]}\n") ==
      Words{
          "search.yaml:3:18: space.learning_rate: 'learning-rate' and 'learning_rate' are names of one flag",
          "search.yaml:7:29: space.per_gpu_train_batch_size: 'per_device_train_batch_size' and "
          "'per_gpu_train_batch_size' are names of one flag",
          "search.yaml:5:12: space.use_cpu: 'no_cuda' and 'use_cpu' are names of one flag"});
}

TEST_CASE("what is no flag of a trial is not searched, by whichever name", "[search]") {
  for (const char* name : {"output-dir",
                           "output_dir",
                           "overwrite-output-dir",
                           "resume_from_checkpoint",
                           "push-to-hub",
                           "hub_token",
                           "push_to_hub_token",
                           "token",
                           "push_to_hub_model_id",
                           "push_to_hub_organization",
                           "hub_strategy",
                           "smoke",
                           "dry-run",
                           "print_config",
                           "help",
                           "help-all",
                           "version",
                           "json",
                           "machines",
                           "config",
                           "config_file"}) {
    CAPTURE(name);
    CHECK(mistakes("space: {" + std::string(name) + ": {choices: [true, false]}}") ==
          std::vector<std::string>{"search.yaml:1:" + std::to_string(11 + std::string(name).size()) +
                                   ": space." + name + ": " + name + " is not searched"});
  }
  CHECK(
      mistakes("space: {no_dataloader_pin_memory: {choices: [true]}}") ==
      std::vector<std::string>{"search.yaml:1:35: space.no_dataloader_pin_memory: 'no_dataloader_pin_memory' "
                               "is a word of the command line only"});
}

TEST_CASE("values and their places belong together", "[search]") {
  const Parameter log{.flag = "a", .low = 1e-4, .high = 1, .log = true};
  CHECK(log.value_at(0) == Json(1e-4));
  CHECK(log.value_at(0.5).get<double>() == Approx(1e-2));
  CHECK(log.value_at(1) == Json(1.0));
  CHECK(log.place_of(1e-3) == Approx(0.25));
  const Parameter steps{.flag = "a", .low = 2, .high = 9, .step = 3, .whole = true};
  CHECK(steps.count() == 3);
  CHECK(steps.value_at(0) == Json(2));
  CHECK(steps.value_at(0.6) == Json(5));
  for (const int value : {2, 5, 8}) CHECK(steps.value_at(steps.place_of(value)) == Json(value));
  CHECK(steps.value_at(1) == Json(8));
  const Parameter words{.flag = "a", .choices = {"x", "y", "z"}};
  for (size_t i = 0; i < 3; ++i)
    CHECK(words.value_at(words.place_of(words.value_number(i))) == words.value_number(i));
  CHECK(words.value_at(1) == Json("z"));
  CHECK(word_of("[a]") == "[a]");
  CHECK(word_of(5e-05) == "5e-05");
  CHECK(word_of(true) == "true");
}

TEST_CASE("ranges at the ends of all numbers are drawn from, or refused", "[search]") {
  using Words = std::vector<std::string>;
  CHECK(mistakes("space:\n  learning_rate: {low: 0, high: 1e300, step: 1e-300}\n"
                 "  max_grad_norm: {low: -9223372036854775808, high: 9223372036854775807, step: 1e10}\n"
                 "  weight_decay: {low: -1e308, high: 1e308, step: 1e-10}\n") ==
        Words{"search.yaml:2:46: space.learning_rate.step: a step too small for its range",
              "search.yaml:3:18: space.max_grad_norm: whole numbers too large to be told apart",
              "search.yaml:4:50: space.weight_decay.step: a step too small for its range"});
  CHECK(mistakes("space: {learning_rate: {low: 1e-307, high: 1e308, log: true}, null_score_diff_threshold: "
                 "{low: -1e308, "
                 "high: 1e308}, max_steps: {low: 0, high: 9007199254740992, step: 1}}")
            .empty());
  const std::vector<Parameter> ranges = {
      {.flag = "a", .low = 1e-320, .high = 1e308, .log = true},
      {.flag = "a", .low = -1e308, .high = 1e308},
      {.flag = "a", .low = 1, .high = std::nextafter(1.0, 2.0), .log = true},
      {.flag = "a", .low = 0, .high = 5e-324},
      {.flag = "a", .low = 0, .high = 0x1p53, .step = 1, .whole = true},
      {.flag = "a", .low = 1e300, .high = 1e300, .log = true, .step = 1e-5},
  };
  for (const Parameter& range : ranges) {
    CAPTURE(range.low, range.high);
    double before = range.low;
    for (const double place : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      const double value = range.value_at(place).get<double>();
      CHECK(value >= before);
      CHECK(value <= range.high);
      before = value;
      const double back = range.place_of(value);
      CHECK((back >= 0 && back <= 1));
    }
    CHECK(range.value_at(0) == Json(range.low));
    CHECK(range.value_at(1).get<double>() == range.high);
  }
  CHECK(ranges[0].place_of(ranges[0].value_at(0.5)) == Approx(0.5));
  CHECK(ranges[1].value_at(0.5).get<double>() == 0);
  CHECK(ranges[1].place_of(ranges[1].value_at(0.75)) == Approx(0.75));
}

}  // namespace
}  // namespace hftrain::search
