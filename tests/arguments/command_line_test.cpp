#include "hftrain/arguments/command_line.h"

#include <algorithm>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/suggestions.h"
#include "hftrain/base/text.h"
#include "support.h"
#include "support/catch.h"

namespace hftrain::arguments {

TEST_CASE("both spellings, both value forms, and the last one wins") {
  CHECK(parse({"--warmup-steps", "10"}).arguments.schedule.warmup_steps == 10);
  CHECK(parse({"--warmup_steps=10"}).arguments.schedule.warmup_steps == 10);
  CHECK(parse({"--lr_scheduler=cosine"}).arguments.schedule.lr_scheduler_type == "cosine");
  CHECK(parse({"--seed", "1", "--seed=2", "--seed", "3"}).arguments.run.seed == 3);
  CHECK(parse({"--run_name=a=b"}).arguments.logging.run_name == "a=b");
  CHECK(parse({"--run_name="}).arguments.logging.run_name == "");
}

TEST_CASE("booleans stand alone, take a word, or have a negative form") {
  CHECK(parse({"--bf16"}).arguments.precision.bf16);
  CHECK(parse({"--bf16", "--seed", "1"}).arguments.precision.bf16);
  CHECK_FALSE(parse({"--bf16", "no"}).arguments.precision.bf16);
  CHECK_FALSE(parse({"--bf16", "--bf16=false"}).arguments.precision.bf16);
  CHECK_FALSE(parse({"--no_skip_memory_metrics"}).arguments.logging.skip_memory_metrics);
  CHECK_FALSE(parse({"--no-skip-memory-metrics"}).arguments.logging.skip_memory_metrics);
  CHECK(parse({"--tf32"}).arguments.precision.tf32 == true);
  CHECK(parse({"--ddp_static_graph"}).arguments.parallel.ddp_static_graph == true);
  CHECK(mistakes({"--bf16", "maybe"}).find("'maybe' is not a truth value") != std::string::npos);
  CHECK(mistakes({"--no_skip_memory_metrics=true"}).find("takes no value") != std::string::npos);
  CHECK(mistakes({"--no_bf16"}).find("unknown flag --no_bf16") != std::string::npos);
}

TEST_CASE("lists end at the next flag") {
  const Arguments arguments =
      parse({"--train_file", "a", "b", "--seed", "1", "--report_to", "csv,tensorboard"}).arguments;
  CHECK(arguments.data.train_file == Words{"a", "b"});
  CHECK(arguments.logging.report_to == Words{"csv", "tensorboard"});
  CHECK(mistakes({"--train_file=a", "b"}).find("unexpected 'b'") != std::string::npos);
  CHECK(mistakes({"--validation_file", "--seed", "1"}).find("--validation_file needs a value") !=
        std::string::npos);
}

TEST_CASE("negative numbers are values") {
  CHECK(parse({"--max_steps", "-1"}).arguments.run.max_steps == -1);
  CHECK(parse({"--save_total_limit", "-1"}).arguments.saving.save_total_limit == -1);
  CHECK(mistakes({"--learning_rate", "-0.1"}).find("'-0.1' is not a number >= 0") != std::string::npos);
}

TEST_CASE("short letters and unknown ones") {
  CHECK(parse({"-t", "3"}).arguments.launch.tee == "3");
  CHECK(parse_arguments(Words{"-h"}, {}).actions.help);
  CHECK(mistakes({"-z"}).find("unknown flag -z") != std::string::npos);
  CHECK(mistakes({"--"}).find("unknown flag --") != std::string::npos);
}

TEST_CASE("debug without a word is accelerate launch's, which has no effect and says so") {
  for (const Words& words : {Words{"--debug"}, Words{"--debug", "true"}}) {
    const ParseOutcome outcome = parse(words);
    REQUIRE(outcome.notes.size() >= 1);
    const bool told = std::any_of(outcome.notes.begin(), outcome.notes.end(), [](const Diagnostic& note) {
      return note.what == "--debug true has no effect here";
    });
    CHECK(told);
  }
  CHECK(mistakes({"--debug", "maybe"}).find("'maybe' is not one of") != std::string::npos);
}

TEST_CASE("prefixes of flags are not accepted") {
  CHECK(mistakes({"--learning", "1"}).find("unknown flag --learning") != std::string::npos);
  CHECK(mistakes({"--dataset_conf", "x"}).find("did you mean --dataset_config") != std::string::npos);
}

TEST_CASE("a Python script on the command line is named as such") {
  for (const Words& words :
       {Words{"run_clm.py"}, Words{"--standalone", "run_clm.py"}, Words{"--typo", "run_clm.py"}}) {
    CHECK(mistakes(words).find("hftrain needs no Python script") != std::string::npos);
  }
}

TEST_CASE("one typing mistake in any flag is fatal and leads back to it, unless that is refused") {
  int suggested = 0, total = 0;
  for (const Flag* flag : flag_table().flags()) {
    if (flag->pattern) continue;
    std::string typo(flag->name);
    const size_t middle = typo.size() / 2;
    std::swap(typo[middle], typo[middle - 1]);
    if (typo == flag->name) typo.erase(middle, 1);
    if (flag_table().find(typo)) continue;
    INFO(typo);
    Diagnostics problems;
    const Words words = {"--" + typo, "1"};
    CHECK(read_command_line(words, problems).empty());
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].what == "unknown flag --" + typo);
    const std::vector<std::string> names = suggest_flags(typo);
    const bool leads_back = std::find(names.begin(), names.end(), flag->name) != names.end();
    CHECK(names.empty() == !contains(problems[0].hint, "did you mean --"));
    if (flag->support.status == Support::kRefused) {
      CHECK_FALSE(leads_back);
      continue;
    }
    ++total;
    if (leads_back) ++suggested;
  }
  // Names of two and three letters are too short to be near anything.
  CHECK(total - suggested <= 4);
  CHECK(total > 300);
}

TEST_CASE("help and version ask for nothing else to be right") {
  CHECK(parse_arguments(Words{"--help", "--typo"}, {}).actions.help);
  CHECK(parse_arguments(Words{"--help-all"}, {}).actions.help_all);
  CHECK(parse_arguments(Words{"--seed", "x", "--version"}, {}).actions.version);
}

TEST_CASE("every word arrives as it was typed") {
  for (const char* word : {"[a, b]", "[CLS]",       "{}",    "{\"a\": 1}", "%%",  "%s",       "a,b", "a b",
                           "",       "\"quoted\"",  "'q'",   "a\nb",       "\\t", "/windows", "++",  "010",
                           "0x10",   "~not-home/x", "$HOME", "*",          "#1",  "é"}) {
    INFO(word);
    CHECK(parse({"--run_name", word}).arguments.logging.run_name == word);
    CHECK(parse({std::string("--run_name=") + word}).arguments.logging.run_name == word);
    CHECK(parse({"--duplicate_stdout_filters", "x"}).arguments.launch.duplicate_stdout_filters == Words{"x"});
  }
  CHECK(parse({"--run_name=-x"}).arguments.logging.run_name == "-x");
  CHECK(parse({"--run_name=--seed"}).arguments.logging.run_name == "--seed");
  CHECK(parse({"--run_name", "-"}).arguments.logging.run_name == "-");
  CHECK(
      contains(mistakes({"--run_name", "-x"}), "try: --run_name=VALUE for a value that begins with a dash"));
  CHECK(parse({"--seed", "010"}).arguments.run.seed == 10);
  CHECK(parse({"--train_file", "[a].txt", "b,c.txt"}).arguments.data.train_file.front() == "[a].txt");
}

TEST_CASE("deepspeed without a value stands beside deepspeed_config") {
  const testing::TemporaryDirectory folder;
  const std::string path = write(folder / "ds.json", R"({"zero_optimization": {"stage": 2}})");
  for (const Words& words :
       {Words{"--deepspeed", "--deepspeed_config", path}, Words{"--deepspeed_config=" + path, "--deepspeed"},
        Words{"--deepspeed", "true", "--deepspeed-config", path}}) {
    INFO(words.front());
    REQUIRE(mistakes(words).empty());
    CHECK(*sharding(words).strategy == "shard_grad_op");
  }
  for (const Words& alone :
       {Words{"--deepspeed"}, Words{"--deepspeed", "--use_cpu"},
        Words{"--deepspeed", "--deepspeed_config", ""}, Words{"--deepspeed", "--deepspeed_config="}}) {
    CHECK(contains(mistakes(alone), "--deepspeed needs a value"));
    CHECK(contains(mistakes(alone), "try: --deepspeed FILE"));
  }
  CHECK(
      contains(mistakes({"--deepspeed", "other.json", "--deepspeed_config", path}), "two different things"));
}

TEST_CASE("truth values that accelerate launch takes as texts may be on and off") {
  for (const char* flag :
       {"--fsdp_use_orig_params", "--fsdp_cpu_ram_efficient_loading", "--zero3_save_16bit_model"}) {
    INFO(flag);
    for (const char* word : {"on", "Off", "true"})
      CHECK_FALSE(contains(mistakes({flag, word}), "truth value"));
    CHECK(contains(mistakes({flag, "maybe"}), "truth value"));
  }
  CHECK(contains(mistakes({"--bf16", "on"}), "truth value"));
}

TEST_CASE("a value with a blank in it may begin with a dash, as argparse has it") {
  CHECK(parse({"--run_name", "-o StrictHostKeyChecking=no"}).arguments.logging.run_name ==
        "-o StrictHostKeyChecking=no");
  CHECK(parse({"--run_name", "--not a flag"}).arguments.logging.run_name == "--not a flag");
  CHECK(contains(mistakes({"--run_name", "--seed=4 "}), "--run_name needs a value"));
  CHECK(contains(mistakes({"--sed 4"}), "unknown flag --sed 4"));
}

TEST_CASE("a flag is no value that begins with a dash") {
  const std::string text = mistakes({"--learning_rate", "--use_cpu"});
  CHECK(contains(text, "--learning_rate needs a value"));
  CHECK_FALSE(contains(text, "begins with a dash"));
}

TEST_CASE("numbers may have an underscore between digits") {
  CHECK(parse({"--max_steps", "1_000"}).arguments.run.max_steps == 1000);
  CHECK(parse({"--save_steps=20_000"}).arguments.saving.save_steps == 20000);
  CHECK(parse({"--learning_rate", "1_0.2_5e-0_3"}).arguments.optimizer.learning_rate == 10.25e-3);
  CHECK(parse({"--run_name", "1_000"}).arguments.logging.run_name == "1_000");
  for (const char* word : {"1__000", "_1000", "1000_", "1_e3", "0x1_0", "1_a"}) {
    INFO(word);
    CHECK(contains(mistakes({"--max_steps", word}), "'" + std::string(word) + "' is not a whole number"));
  }
}

TEST_CASE("abbreviations of published commands are names of their flags") {
  CHECK(parse({"--nnode=2", "--node_rank=0"}).arguments.launch.nnodes == "2");
  CHECK(parse({"--adam_eps", "1e-06"}).arguments.optimizer.adam_epsilon == 1e-6);
  CHECK(parse({"--overwrite_output"}).arguments.output.overwrite_output_dir);
}

TEST_CASE("an old switch sets the word that stands for it now") {
  CHECK(parse({"--group_by_length"}).arguments.data.train_sampling_strategy == "group_by_length");
  CHECK(parse({"--group_by_length", "false"}).arguments.data.train_sampling_strategy == "random");
}

TEST_CASE("a block has two tokens or more") {
  for (const char* size : {"0", "1", "-1"}) {
    INFO(size);
    CHECK(contains(mistakes({"--block_size", size}),
                   std::string("--block_size: '") + size + "' is not a whole number >= 2"));
  }
}

}  // namespace hftrain::arguments
