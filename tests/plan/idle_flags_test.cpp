// Flags that a model, a task or an order of the data has no use for.
#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

using architectures::Architecture;
using architectures::Head;
using Words = std::vector<std::string>;

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Case of_images(const Words& more) {
  Case run(joined({"--task", "image-classification"}, more));
  run.model.architecture = Architecture::from_scratch(
      "vit", "hidden_size=8,intermediate_size=8,num_hidden_layers=1,num_attention_heads=2,image_size=32",
      Head::kImageClassification);
  run.data.of_task = {{"kind", "classes"}, {"names", {"cat", "dog"}}};
  return run;
}

Case of_pairs(const Words& more) {
  Case run(joined({"--task", "summarization"}, more));
  run.model.architecture =
      Architecture::from_scratch("t5",
                                 "d_model=8,d_kv=4,d_ff=8,num_layers=1,num_decoder_layers=1,num_heads=2,"
                                 "vocab_size=100,decoder_start_token_id=0",
                                 Head::kSeq2SeqLm);
  return run;
}

bool told(const Case& run, const std::string& flag) {
  return contains(run.notes(), flag + " has no effect\n");
}

}  // namespace

TEST_CASE("with images it is told that the split of rows and a tokenizer have no effect") {
  for (const char* flag : {"validation_split_percentage", "tokenizer_name"}) {
    const Words words = {std::string("--") + flag, "10"};
    INFO(flag);
    CHECK(told(of_images(words), flag));
    CHECK_FALSE(told(of_images({}), flag));
    CHECK_FALSE(told(Case(words), flag));
  }
}

TEST_CASE("a model_type is told to be idle where the model that is opened is of another one") {
  const auto opened = [](const char* config) {
    Case run;
    run.parsed.arguments.model.config_overrides.reset();
    run.parsed.arguments.model.model_name_or_path = "trained";
    run.model.source_folder = "/here/trained";
    if (*config != 0) run.model.architecture = Architecture::from_scratch("llama", config);
    return run.notes();
  };
  const std::string other =
      opened("hidden_size=8,intermediate_size=8,num_hidden_layers=1,num_attention_heads=2,vocab_size=100");
  CHECK(contains(other,
                 "model_type has no effect\n  where: --model_type (command line)\n  why: the config of "
                 "/here/trained says llama"));
  CHECK_FALSE(contains(opened(""), "model_type has no effect"));
}

TEST_CASE("a revision is told to be idle where no snapshot of the Hub is opened") {
  const auto idle = [](const std::string& folder, const Words& words, const std::string& tokenizer = "") {
    Case run(words);
    run.model.source_folder = folder;
    run.model.tokenizer_folder = tokenizer;
    return told(run, "model_revision");
  };
  const std::string snapshot = "/cache/models--org--name/snapshots/0a1b";
  CHECK(idle("/here/trained", {"--model_revision", "v2"}));
  CHECK(idle("/here/trained", {"--model_init_kwargs", R"({"revision": "v2"})"}));
  CHECK_FALSE(idle("/here/trained", {"--model_revision", "main"}));
  CHECK_FALSE(idle("/here/trained", {"--task", "sft", "--model_revision", "v2", "--chat_template_path",
                                     "org/chat", "--max_length", "32"}));
  CHECK_FALSE(idle(snapshot, {"--model_revision", "v2"}));
  CHECK_FALSE(idle("/here/trained", {"--model_revision", "v2"}, snapshot));
}

TEST_CASE("a data_seed is told to be idle where nothing is drawn from it") {
  const auto idle = [](const Words& more) {
    return told(Case(joined({"--data_seed", "3"}, more)), "data_seed");
  };
  CHECK(idle({"--train_sampling_strategy", "sequential"}));
  CHECK(idle({"--train_sampling_strategy", "batch_rebalance"}));
  CHECK(idle({"--accelerator_config", R"({"use_seedable_sampler": false})"}));
  CHECK_FALSE(idle({}));
  CHECK_FALSE(idle({"--train_sampling_strategy", "group_by_length"}));
  CHECK_FALSE(idle({"--train_sampling_strategy", "sequential", "--do_eval"}));
  CHECK_FALSE(told(of_images({"--data_seed", "3", "--train_sampling_strategy", "sequential"}), "data_seed"));
}

TEST_CASE(
    "a grouped order is drawn on several ranks, and evaluations are grouped by data_seed all the same") {
  const auto idle = [](const Words& more) {
    return told(Case(joined({"--data_seed", "3", "--train_sampling_strategy", "group_by_length"}, more)),
                "data_seed");
  };
  const Words drawn = {"--accelerator_config", R"({"use_seedable_sampler": false})"};
  CHECK(idle(joined(drawn, {"--nproc_per_node", "2"})));
  CHECK_FALSE(idle(joined(drawn, {"--nproc_per_node", "2", "--do_train", "--do_eval"})));
  CHECK_FALSE(idle(drawn));
  CHECK_FALSE(idle({"--nproc_per_node", "2"}));
}

TEST_CASE("use_seedable_sampler false is told to be idle where no order is drawn") {
  const auto notes = [](const std::string& strategy, const Words& more) {
    return Case(joined({"--train_sampling_strategy", strategy, "--accelerator_config",
                        R"({"use_seedable_sampler": false})"},
                       more))
        .notes();
  };
  const std::string told = "accelerator_config.use_seedable_sampler has no effect\n";
  const Words two = {"--nproc_per_node", "2"};
  CHECK(contains(notes("group_by_length", {}), told));
  CHECK(contains(notes("group_by_length", {}), "comes from data_seed and the epoch"));
  CHECK_FALSE(contains(notes("group_by_length", two), told));
  CHECK(contains(notes("batch_rebalance", two), told));
  CHECK(contains(notes("sequential", two), told));
  CHECK_FALSE(contains(notes("random", {}), told));
  CHECK_FALSE(contains(Case({"--train_sampling_strategy", "group_by_length", "--accelerator_config",
                             R"({"even_batches": true})"})
                           .notes(),
                       told));
}

TEST_CASE(
    "pairs that are judged by the loss alone have no metrics to include anything for, and none is promised") {
  const Words asked = {"--do_train", "--do_eval", "--include_for_metrics", "loss"};
  CHECK(told(of_pairs(asked), "include_for_metrics"));
  CHECK_FALSE(told(of_pairs({"--do_train", "--include_for_metrics", "loss"}), "include_for_metrics"));
  CHECK_FALSE(told(of_pairs(joined(asked, {"--predict_with_generate"})), "include_for_metrics"));
  CHECK_FALSE(told(Case(asked), "include_for_metrics"));
  CHECK(told(of_pairs({"--do_train", "--do_eval", "--batch_eval_metrics"}), "batch_eval_metrics"));
  CHECK_FALSE(told(of_pairs({"--do_train", "--do_eval", "--batch_eval_metrics", "--predict_with_generate"}),
                   "batch_eval_metrics"));
  const Words best = joined(asked, {"--eval_strategy", "epoch", "--metric_for_best_model", "loss_std"});
  CHECK(contains(of_pairs(best).error().render(), "there is no metric 'loss_std'"));
  const Case written = of_pairs(joined(best, {"--predict_with_generate"}));
  CHECK(written.plan().evaluation.metric_for_best_model == "eval_loss_std");
}

}  // namespace hftrain::plan
