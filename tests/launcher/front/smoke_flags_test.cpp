// What a smoke run changes of a configuration.
#include "launcher/front/smoke_flags.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "hftrain/architectures/architecture.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/storage/model_folder.h"
#include "hftrain/tasks/described_task.h"
#include "hftrain/tasks/task_table.h"
#include "launcher/front/smoke_data.h"
#include "launcher/front/smoke_sample.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

using Words = std::vector<std::string>;

arguments::ParseOutcome parsed(const Words& words) {
  return arguments::parse_arguments(words, {});
}

// What the child of `hftrain --smoke WORDS` is told.
arguments::ParseOutcome child_of(Words words, int gpus = 0) {
  words.insert(words.end(), {"--smoke", "--output_dir", "/out", "--train_file", "a.txt"});
  const SmokeSetting setting = smoke_setting(parsed(words), gpus);
  return parsed(smoke_command_line(words, setting.flags));
}

bool has_notice(const SmokeSetting& setting, const std::string& text) {
  return std::any_of(setting.notices.begin(), setting.notices.end(),
                     [&](const std::string& notice) { return notice.find(text) != std::string::npos; });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a smoke run is short and saves, and is as configured in all else") {
  const arguments::Arguments child =
      child_of({"--learning_rate", "0.5", "--no_keep_linebreaks", "--label_smoothing_factor=0.1",
                "--max_restarts", "2", "--quiet", "--async_save", "--max_steps", "5000", "--save_strategy",
                "no", "--optim", "adamw_torch"})
          .arguments;
  CHECK_FALSE(child.interface.smoke);
  CHECK(child.run.max_steps == 60);
  CHECK(child.saving.save_strategy == "steps");
  CHECK(child.saving.save_steps == 20);
  CHECK(child.optimizer.learning_rate == 0.5);
  CHECK_FALSE(child.data.keep_linebreaks);
  CHECK(child.launch.max_restarts == 2);
  CHECK(child.interface.quiet);
  CHECK(child.saving.async_save);
  CHECK(child.launch.nproc_per_node == "2");
}

TEST_CASE(
    "a model that is made has the head of its task, and lengths that suit it unless others are asked for") {
  for (const char* task : {"clm", "sft", "mlm", "text-classification", "token-classification",
                           "question-answering", "seq2seq", "image-classification"}) {
    INFO(task);
    const arguments::Arguments child = child_of({"--task", task}).arguments;
    CHECK_NOTHROW(architectures::Architecture::from_scratch(
        child.model.model_type.value(), child.model.config_overrides.value(),
        tasks::row_of(tasks::task_named(task).value()).head));
  }
  CHECK(child_of({"--task", "mlm"}).arguments.data.max_seq_length == 64);
  CHECK(child_of({"--task", "mlm", "--max_seq_length", "32"}).arguments.data.max_seq_length == 32);
  CHECK(child_of({"--task", "seq2seq"}).arguments.data.max_source_length == 64);
  CHECK(child_of({"--task", "question-answering"}).arguments.data.doc_stride == 16);
}

TEST_CASE("what the length of a smoke run takes from a configuration is said") {
  const Words words = {"--smoke", "--output_dir",    "/out", "--train_file", "a.txt", "--validation_file",
                       "b.txt",   "--eval_strategy", "steps"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), words.begin(), words.end());
    return smoke_setting(parsed(more), 0);
  };
  CHECK_FALSE(has_notice(with({}), "eval_delay"));
  CHECK(has_notice(with({"--eval_delay", "1000"}), "--eval_delay (command line) is 0 here"));
  CHECK_FALSE(has_notice(with({"--do_train"}), "do_train"));
  CHECK(has_notice(with({"--do_eval", "--do_train", "false"}), "--do_train (command line) is true here"));
}

TEST_CASE("rows of a plug-in's task are the user's, and its model has its head") {
  tasks::add_described_task(
      R"({"name": "of-smoke", "head": "causal_lm", "text": "a", "labels": {"column": "b", "kind": "text"}})",
      "the test");
  const Words words = {"--task", "of-smoke", "--plugin", "/lib/mine.so"};
  const arguments::Arguments child = child_of(words).arguments;
  CHECK(child.run.task == "of-smoke");
  CHECK_NOTHROW(architectures::Architecture::from_scratch(
      child.model.model_type.value(), child.model.config_overrides.value(), architectures::Head::kCausalLm));
  CHECK(child.data.max_seq_length == 64);
  CHECK(child.data.max_train_samples == 2000);
  Words without = words;
  without.insert(without.end(), {"--smoke", "--output_dir", "/out"});
  CHECK_REFUSED(smoke_setting(parsed(without), 0), "a smoke run makes up no rows for the task of a plug-in");
}

TEST_CASE("samples of tasks whose data are not copied are counted, and fewer stay fewer") {
  const auto data = [](const Words& more) {
    Words words = {"--task", "text-classification"};
    words.insert(words.end(), more.begin(), more.end());
    return child_of(words).arguments.data;
  };
  CHECK(data({}).max_train_samples == 2000);
  CHECK(data({"--do_train", "--do_eval"}).max_eval_samples == 200);
  CHECK_FALSE(data({}).max_eval_samples);  // which would be told to be idle
  CHECK(data({"--max_train_samples", "50"}).max_train_samples == 50);
  CHECK(data({"--max_train_samples", "5000"}).max_train_samples == 2000);
  CHECK_FALSE(child_of({}).arguments.data.max_train_samples);
}

TEST_CASE("evaluation and saves at epochs come after updates, and none stays none") {
  const arguments::Arguments child = child_of({"--eval_strategy", "epoch", "--save_strategy", "epoch",
                                               "--load_best_model_at_end", "--eval_delay", "3"})
                                         .arguments;
  CHECK(child.evaluation.eval_strategy == "steps");
  CHECK(child.evaluation.eval_steps == 20);
  CHECK(child.evaluation.eval_delay == 0);
  CHECK(child.saving.load_best_model_at_end == true);
  CHECK(child_of({}).arguments.evaluation.eval_strategy == "no");
}

TEST_CASE(
    "ranks are those of this machine: two without a GPU, those of the command line, no more than GPUs") {
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "eight.yaml") << "nproc_per_node: 8\n";
  std::ofstream(folder / "three.yaml") << "nproc_per_node: 3\n";
  CHECK(child_of({}).arguments.launch.nproc_per_node == "2");
  CHECK(child_of({"--nproc_per_node", "5"}).arguments.launch.nproc_per_node == "5");
  CHECK(child_of({"--num_processes", "3"}).arguments.launch.nproc_per_node == "3");
  CHECK(child_of({"--config", folder / "eight.yaml"}).arguments.launch.nproc_per_node == "2");
  CHECK(child_of({"--config", folder / "three.yaml"}).arguments.launch.nproc_per_node == "3");
  CHECK(child_of({"--config", folder / "eight.yaml"}, 4).arguments.launch.nproc_per_node == "4");
  CHECK_FALSE(child_of({}, 4).arguments.launch.nproc_per_node);
  CHECK(child_of({"--use_cpu"}, 4).arguments.launch.nproc_per_node == "2");
}

TEST_CASE("cpu_ranks count in a smoke run as nproc_per_node does, and what is cut of them is said") {
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "six.yaml") << "cpu_ranks: 6\n";
  std::ofstream(folder / "three.yaml") << "cpu_ranks: 3\n";
  std::ofstream(folder / "both.yaml") << "cpu_ranks: 2\nnproc_per_node: 8\n";
  const auto launch = [](const Words& words, int gpus = 0) { return child_of(words, gpus).arguments.launch; };
  CHECK(launch({"--cpu_ranks", "6"}).cpu_ranks == 6);
  CHECK_FALSE(launch({"--cpu_ranks", "6"}).nproc_per_node);
  CHECK(launch({"--config", folder / "three.yaml"}).cpu_ranks == 3);
  CHECK(launch({"--config", folder / "six.yaml"}).cpu_ranks == 2);
  CHECK_FALSE(launch({"--config", folder / "six.yaml"}).nproc_per_node);
  CHECK(launch({"--config", folder / "both.yaml"}).nproc_per_node == "2");
  CHECK(launch({"--config", folder / "six.yaml"}, 4).cpu_ranks == 6);
  const auto notice = [](const Words& words) {
    Words line = {"--smoke", "--output_dir", "/out", "--train_file", "a.txt"};
    line.insert(line.end(), words.begin(), words.end());
    return has_notice(smoke_setting(parsed(line), 0), "cpu_ranks");
  };
  CHECK(notice({"--config", folder / "six.yaml"}));
  CHECK_FALSE(notice({"--config", folder / "three.yaml"}));
  CHECK_FALSE(notice({"--cpu_ranks", "6"}));
}

TEST_CASE("updates that accumulate are fewer and accumulate less, with a word") {
  const auto lengths = [](const Words& words) {
    const arguments::Arguments child = child_of(words).arguments;
    return Words{std::to_string(child.batch.gradient_accumulation_steps), std::to_string(child.run.max_steps),
                 std::to_string(static_cast<int>(child.saving.save_steps))};
  };
  CHECK(lengths({"--gradient_accumulation_steps", "2"}) == Words{"2", "30", "10"});
  CHECK(lengths({"--gradient_accumulation_steps", "64"}) == Words{"4", "15", "5"});
  const Words named = {"--model_type", "gpt2", "--tokenizer_name", "t", "--gradient_accumulation_steps"};
  const auto of_named = [&](const char* steps) {
    Words words = named;
    words.emplace_back(steps);
    return lengths(words);
  };
  CHECK(of_named("1") == Words{"1", "6", "2"});
  CHECK(of_named("16") == Words{"4", "3", "1"});
  const auto notice = [](const char* steps) {
    return has_notice(smoke_setting(parsed({"--smoke", "--output_dir", "/out", "--train_file", "a.txt",
                                            "--gradient_accumulation_steps", steps}),
                                    0),
                      "gradient_accumulation_steps (command line) is 4 here");
  };
  CHECK(notice("64"));
  CHECK_FALSE(notice("4"));
}

TEST_CASE("rows that are asked to be long are trained in fewer updates, where the model is a made one") {
  const auto steps = [](Words words) { return child_of(std::move(words)).arguments.run.max_steps; };
  CHECK(steps({"--block_size", "64"}) == 60);
  CHECK(steps({"--block_size", "256"}) == 15);
  CHECK(steps({"--block_size", "1024"}) == 6);
  CHECK(steps({"--task", "question-answering", "--max_seq_length", "384"}) == 9);
  CHECK(steps({"--task", "sft", "--max_length", "2048"}) == 6);
  CHECK(steps({"--task", "seq2seq", "--max_source_length", "512"}) == 6);
  CHECK(steps({"--task", "seq2seq"}) == 60);
  CHECK(steps({"--model_type", "gpt2", "--tokenizer_name", "t", "--block_size", "1024"}) == 6);
}

TEST_CASE("accumulation that another place states as well stays, and the updates are fewer still") {
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "ds.json")
      << R"({"gradient_accumulation_steps": 16, "zero_optimization": {"stage": 2}})";
  const arguments::Arguments of_file = child_of({"--deepspeed", folder / "ds.json"}).arguments;
  CHECK(of_file.batch.gradient_accumulation_steps == 16);
  CHECK(of_file.run.max_steps == 6);
  const arguments::Arguments of_config =
      child_of({"--accelerator_config", R"({"gradient_accumulation_kwargs": {"num_steps": 16}})"}).arguments;
  CHECK(of_config.batch.gradient_accumulation_steps == 16);
  CHECK(of_config.run.max_steps == 6);
}

TEST_CASE("who predicts on rows that are made gets test rows, few of them, unless they are named") {
  const testing::TemporaryDirectory folder;
  for (const char* task : {"clm", "text-classification", "image-classification", "translation"}) {
    INFO(task);
    const auto flags = [&](const Words& more) {
      Words words = {"--smoke", "--output_dir", "/out", "--task", task};
      words.insert(words.end(), more.begin(), more.end());
      const arguments::ParseOutcome asked = parsed(words);
      const SmokeSetting setting = smoke_setting(asked, 0);
      Words all = setting.flags;
      const Words made = write_sample_data(setting.task, asked.arguments, folder.path());
      all.insert(all.end(), made.begin(), made.end());
      return join(all, " ");
    };
    CHECK_FALSE(contains(flags({}), "--test_file"));
    CHECK(contains(flags({"--do_predict"}), "--test_file " + (folder.path())));
    CHECK(contains(flags({"--do_predict"}), "--max_predict_samples 200"));
    CHECK_FALSE(contains(flags({"--do_predict", "--test_file", "mine"}), "--test_file"));
  }
}

TEST_CASE("rows that are made have the columns that are asked for") {
  const testing::TemporaryDirectory folder;
  const auto flags = [&](const Words& more) {
    Words words = {"--smoke", "--output_dir", "/out"};
    words.insert(words.end(), more.begin(), more.end());
    const arguments::ParseOutcome asked = parsed(words);
    return write_sample_data(smoke_setting(asked, 0).task, asked.arguments, folder.path());
  };
  const auto row = [&](const Words& more) {
    const std::string rows = read_file(flags(more).at(1));
    return rows.substr(0, rows.find('\n'));
  };
  const auto of_glue = [&](const char* name) {
    return row({"--task", "text-classification", "--task_name", name});
  };
  CHECK(row({"--task", "text-classification"}).starts_with(R"({"sentence":)"));
  CHECK(of_glue("sst2").starts_with(R"({"sentence":)"));
  CHECK(of_glue("MRPC").starts_with(R"({"sentence1":)"));
  const Json mnli = parse_json(of_glue("mnli"), "a row"), stsb = parse_json(of_glue("stsb"), "a row");
  CHECK((mnli.contains("premise") && mnli.contains("hypothesis") && mnli["label"].is_string()));
  CHECK((stsb.contains("sentence2") && stsb["label"].is_number_float()));
  const Json tags = parse_json(
      row({"--task", "token-classification", "--text_column_name", "words", "--label_column_name", "marks"}),
      "a row");
  CHECK((tags.contains("words") && tags.contains("marks") && tags.size() == 2));
  CHECK(contains(row({"--task", "token-classification", "--task_name", "pos"}), "\"pos_tags\""));
  CHECK(row({"--task", "seq2seq"}).starts_with(R"({"text":)"));
  const std::string swapped =
      row({"--task", "seq2seq", "--text_column", "summary", "--summary_column", "text"});
  CHECK((swapped.starts_with(R"({"summary":)") && contains(swapped, R"("text":)")));
  for (const char* task : {"seq2seq", "translation"}) {
    const Words asked = {"--task", task, "--source_lang", "en_XX", "--target_lang", "de"};
    const Json both = parse_json(row(asked), "a row").at("translation");
    CHECK((both.contains("en") && both.contains("de") && both.size() == 2));
    CHECK_FALSE(contains(join(flags(asked), " "), "plain"));
  }
  const Json image = parse_json(
      row({"--task", "image-classification", "--image_column_name", "img", "--label_column_name", "kind"}),
      "a row");
  CHECK(std::filesystem::is_regular_file(image.at("img").get<std::string>()));
  CHECK(contains(image.at("img").get<std::string>(), '/' + image.at("kind").get<std::string>() + '/'));
  CHECK(flags({"--task", "image-classification"}).front() == "--train_dir");
}

TEST_CASE("an adapter without a named model stands beside one that is written, with weights of its task") {
  const SmokeSetting setting =
      smoke_setting(parsed({"--smoke", "--output_dir", "/out", "--train_file", "a.txt", "--use_peft"}), 0);
  CHECK(setting.makes_weights);
  CHECK_FALSE(contains(join(setting.flags, " "), "--model_type"));
  CHECK_FALSE(
      smoke_setting(parsed({"--smoke", "--output_dir", "/out", "--train_file", "a.txt"}), 0).makes_weights);
  for (const char* task :
       {"clm", "mlm", "text-classification", "question-answering", "seq2seq", "image-classification"}) {
    INFO(task);
    const testing::TemporaryDirectory folder;
    const tasks::Task asked = tasks::task_named(task).value();
    const std::string place = write_sample_model(asked, {}, folder.path());
    const storage::ModelWeights weights(place);
    const Json config = read_json_file(place + "/config.json");
    CHECK_FALSE(architectures::Architecture::head_of(config));
    const auto model = architectures::Architecture::from_config(config, place, tasks::row_of(asked).head);
    for (const architectures::ParameterSpec& spec : model->parameters().parameters) {
      if (spec.head || spec.buffer) continue;
      INFO(spec.name);
      CHECK(weights.at(spec.name).entry.shape == spec.shape);
    }
  }
}

TEST_CASE("the model that a smoke run makes is small in each task") {
  for (const char* task : {"clm", "sft", "mlm", "text-classification", "token-classification",
                           "question-answering", "seq2seq", "translation", "image-classification"}) {
    INFO(task);
    const tasks::Task asked = tasks::task_named(task).value();
    const Words flags = sample_model_flags(asked, {});
    REQUIRE(flags.size() == 4);
    const auto model =
        architectures::Architecture::from_scratch(flags[1], flags[3], tasks::row_of(asked).head);
    CHECK(model->parameters().count_non_embedding() < 100'000);
  }
}

TEST_CASE("the model that a smoke run makes has positions for the rows that are asked for") {
  const auto config = [](const char* task, const char* flag, const char* length) {
    const Words words = {"--smoke", "--output_dir", "/out", "--task", task, flag, length};
    return sample_model_flags(tasks::task_named(task).value(), parsed(words).arguments).at(3);
  };
  CHECK(config("clm", "--block_size", "1024").find("max_position_embeddings=1024") != std::string::npos);
  CHECK(config("question-answering", "--max_seq_length", "384").find("max_position_embeddings=384") !=
        std::string::npos);
  CHECK(config("mlm", "--max_seq_length", "16").find("max_position_embeddings=128") != std::string::npos);
  CHECK(config("sft", "--max_length", "2048").find("max_position_embeddings=2048") != std::string::npos);
  CHECK(config("clm", "--block_size", "1000000").find("max_position_embeddings=65536") != std::string::npos);
}

TEST_CASE("several machines and host files give way, with a word") {
  const Words words = {"--smoke", "--output_dir", "/out", "--train_file",  "a.txt", "--nnodes",
                       "4",       "--node_rank",  "3",    "--master_addr", "node0", "--num_processes",
                       "16"};
  const SmokeSetting setting = smoke_setting(parsed(words), 0);
  CHECK(has_notice(setting, "nnodes"));
  const arguments::Arguments child = parsed(smoke_command_line(words, setting.flags)).arguments;
  CHECK(child.launch.nnodes == "1");
  CHECK(child.launch.node_rank == 0);
  CHECK(child.launch.standalone);
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "hosts") << "a slots=2\nb slots=2\n";
  const Words hosts = {"--smoke", "--output_dir", "/out",          "--train_file",
                       "a.txt",   "--hostfile",   folder / "hosts"};
  const SmokeSetting with_hosts = smoke_setting(parsed(hosts), 0);
  CHECK(with_hosts.environment.at("HFTRAIN_HOSTED") == "1");
  CHECK_NOTHROW(parsed(smoke_command_line(hosts, with_hosts.flags)));
}

TEST_CASE("what would keep a resumed run from being the same gives way, with a word") {
  const Words words = {"--smoke",
                       "--output_dir",
                       "/out",
                       "--train_file",
                       "a.txt",
                       "--save_only_model",
                       "--ignore_data_skip",
                       "--resume_from_checkpoint",
                       "/old/checkpoint-9",
                       "--overwrite_output_dir",
                       "--eval_strategy",
                       "steps",
                       "--load_best_model_at_end",
                       "--early_stopping_patience",
                       "1"};
  const SmokeSetting setting = smoke_setting(parsed(words), 0);
  for (const char* flag :
       {"save_only_model", "ignore_data_skip", "resume_from_checkpoint", "early_stopping_patience"}) {
    INFO(flag);
    CHECK(has_notice(setting, flag));
  }
  const arguments::Arguments child = parsed(smoke_command_line(words, setting.flags)).arguments;
  CHECK_FALSE(child.saving.save_only_model);
  CHECK_FALSE(child.data.ignore_data_skip);
  CHECK(child.saving.resume_from_checkpoint == "auto");
  CHECK_FALSE(child.output.overwrite_output_dir);
  CHECK(child.saving.early_stopping_patience > 1000);
}

TEST_CASE(
    "a tracker whose place a file exports is left out, with a word; the others get a place of the check") {
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "placed.yaml") << "env: {WANDB_DIR: /real}\nreport_to: [wandb, csv, mlflow]\n";
  std::ofstream(folder / "alone.yaml") << "env: {TRACKIO_DIR: /real}\nreport_to: trackio\n";
  const auto trackers = [](const Words& words) { return child_of(words).arguments.logging.report_to; };
  CHECK(trackers({"--config", folder / "placed.yaml"}) == Words{"csv", "mlflow"});
  CHECK(trackers({"--config", folder / "alone.yaml"}) == trackers({"--report_to", "none"}));
  CHECK(trackers({"--report_to", "wandb", "trackio"}) == Words{"wandb", "trackio"});
  const Words placed{"--config", folder / "placed.yaml", "--smoke", "--output_dir",
                     "/out",     "--train_file",         "a.txt"};
  CHECK(has_notice(smoke_setting(parsed(placed), 0), "report_to"));
}

TEST_CASE("small data are taken as they are, and of large data the first rows") {
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "small.csv") << "text\n\"one, two\"\n";
  {
    std::ofstream large(folder / "large.txt");
    for (int i = 0; i < 20'000; ++i) large << "line " << i << '\n';
  }
  CHECK(cut_data({}, data::Split::kTrain, true, 1000, folder / "cut").empty());
  CHECK(cut_data({folder / "small.csv"}, data::Split::kTrain, true, 1000, folder / "cut") ==
        Words{folder / "small.csv"});
  const Words cut = cut_data({folder / "large.txt"}, data::Split::kTrain, true, 1000, folder / "cut");
  REQUIRE(cut == Words{folder / "cut/train.jsonl"});
  CHECK(std::filesystem::file_size(cut.front()) < 4000);
  const std::string text = read_file(cut.front());
  CHECK(text.starts_with("{\"text\": \"line 0\\n\"}\n"));
  CHECK_REFUSED(cut_data({folder / "none.txt"}, data::Split::kTrain, true, 1000, folder / "cut"),
                "a data file does not exist");
}

}  // namespace hftrain::front
