// What a plan takes from its task.
#include <algorithm>

#include "hftrain/plan/describe.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/tasks/described_task.h"
#include "resolve_case.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::plan {
namespace {

using architectures::Architecture;
using architectures::Head;

// A classification by three names over rows of at most 32 tokens.
struct ClassificationCase : Case {
  explicit ClassificationCase(std::vector<std::string> flags = {}) : Case(with_task(std::move(flags))) {
    model.architecture = Architecture::from_scratch(
        "gpt2", parsed.arguments.model.config_overrides.value_or(""), Head::kSequenceClassification);
    model.special_tokens = SpecialTokens{.bos = 1, .eos = 1, .pad = 2};
    data.of_task = {{"kind", "classes"}, {"names", {"bad", "fair", "good"}}};
    data.train->columns = {"input_ids", "token_type_ids", "labels"};
  }

  static std::vector<std::string> with_task(std::vector<std::string> flags) {
    const bool says_length = std::find(flags.begin(), flags.end(), "--max_seq_length") != flags.end();
    flags.insert(flags.end(), {"--task", "text-classification"});
    if (!says_length) flags.insert(flags.end(), {"--max_seq_length", "32"});
    return flags;
  }
};

TEST_CASE("a classification's plan has its head, the labels of its data and its padding") {
  const RunPlan plan = ClassificationCase().plan();
  CHECK(plan.data.task == tasks::Task::kTextClassification);
  CHECK(plan.model.config["architectures"] == Json({"GPT2ForSequenceClassification"}));
  CHECK(plan.model.config["id2label"] == Json({{"0", "bad"}, {"1", "fair"}, {"2", "good"}}));
  CHECK(plan.model.config["label2id"] == Json({{"bad", 0}, {"fair", 1}, {"good", 2}}));
  CHECK(plan.model.config["problem_type"] == "single_label_classification");
  CHECK(plan.model.config["pad_token_id"] == 2);
  CHECK(plan.model.generation_config.empty());
  CHECK(
      plan.model.parameters ==
      Architecture::from_config(plan.model.config, "", Head::kSequenceClassification)->parameters().count());
  CHECK(plan.data.block_size == 32);
  CHECK(plan.data.padding.length == 32);
  REQUIRE(plan.data.padding.columns.size() == 3);
  CHECK(plan.data.padding.columns[0].pad == 2);
  CHECK(plan.data.train->columns == std::vector<std::string>{"input_ids", "token_type_ids", "labels"});
}

TEST_CASE("a model of other labels than the data have, or of the same in another order, is told of") {
  const auto told = [](const char* labels) {
    ClassificationCase one;
    Json config = one.model.architecture->config_json();
    config["id2label"] = Json::parse(labels);
    one.model.architecture = Architecture::from_config(config, "", Head::kSequenceClassification);
    one.model.source_folder = "/trained";
    return one.notes();
  };
  const std::string order = told(R"({"0": "bad", "1": "good", "2": "fair"})");
  CHECK(contains(order, "the labels of the data in another order"));
  CHECK(contains(order, "the model's are …, good, fair; those of the data …, fair, good"));
  CHECK(contains(order, "its head keeps its numbers"));
  const std::string fewer = told(R"({"0": "bad", "1": "good"})");
  CHECK(contains(fewer, "trained for other labels than the data have"));
  CHECK(contains(fewer, "a head of another size is taken with --ignore_mismatched_sizes"));
  for (const char* same :
       {R"({"0": "bad", "1": "fair", "2": "good"})", R"({"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"})"}) {
    CHECK_FALSE(contains(told(same), "labels"));
  }
}

TEST_CASE("a stored weight of another shape than the run's is refused by the plan") {
  ClassificationCase one;
  one.model.source_folder = "/trained";
  for (const auto& spec :
       one.model.architecture->parameters().parameters)  // two classes, where the data have three
    one.model.stored_shapes[spec.name] = {spec.shape, "model-00002-of-00002.safetensors"};
  CHECK(one.error().code() == ExitCode::kData);
  const std::string head = one.error().render();
  CHECK(contains(head, "'score.weight' has the wrong shape"));
  CHECK(contains(head, "/trained/model-00002-of-00002.safetensors"));
  CHECK(contains(head, "config.json asks for [3, 8], the file holds [2, 8]"));
  CHECK(contains(head, "--ignore_mismatched_sizes starts it from random numbers"));

  ResolveInput resumed = one.input();
  resumed.resume_from = "/checkpoint";  // whose weights are loaded in their place
  resolve(resumed);
  one.parsed.arguments.model.ignore_mismatched_sizes = true;
  one.plan();
  one.parsed.arguments.model.ignore_mismatched_sizes = false;
  one.model.stored_shapes.erase("score.weight");  // one of another task
  one.plan();

  std::vector<int64_t>& embedding = one.model.stored_shapes["transformer.wte.weight"].shape;
  one.model.tokenizer_vocabulary = embedding[0] + 7;  // for which the embedding grows
  one.plan();
  const std::string before = std::to_string(embedding[0]);
  for (const int more : {-1, 7}) {  // not even as many as it grows to: from_pretrained refuses them, too
    embedding[0] = std::stoll(before) + more;
    const std::string said = one.error().render();
    CHECK(contains(said, "'transformer.wte.weight' has the wrong shape"));
    CHECK(contains(
        said, "config.json asks for [" + before + ", 8], the file holds [" + std::to_string(embedding[0])));
  }
}

TEST_CASE("shapes are held against every name that files have for a parameter") {
  Case one;
  one.model.source_folder = "/trained";
  const auto told_of = [&one](const std::string& name, std::vector<int64_t> shape) {
    one.model.stored_shapes = {{name, {std::move(shape), "model.safetensors"}}};
    return one.error().render();
  };
  CHECK(contains(told_of("ln_f.weight", {9}), "'ln_f.weight' has the wrong shape"));  // of a bare body
  CHECK(contains(told_of("lm_head.weight", {100, 9}),
                 "'lm_head.weight' has the wrong shape"));  // of a tied output
}

TEST_CASE("beside an adapter a head of classes is trained whole, and nothing of the body with it") {
  ClassificationCase one({"--use_peft", "--lora_r", "2"});
  one.model.architecture = Architecture::from_scratch(
      "bert", "vocab_size=64,hidden_size=16,num_hidden_layers=1,num_attention_heads=2,intermediate_size=32",
      Head::kSequenceClassification);
  one.model.source_folder = "/base";
  const RunPlan plan = one.plan();
  REQUIRE(plan.model.adapter);
  CHECK(plan.model.adapter->spec.saved_modules == std::vector<std::string>{"classifier"});
  // query and value of one block, and the matrix and the bias of three classes
  const int64_t numbers = 2 * (2 * 16 + 16 * 2) + 3 * 16 + 3;
  CHECK(plan.model.trainable_parameters == numbers);
  one.model.lacking = {"bert.pooler.dense.weight", "bert.pooler.dense.bias", "classifier.weight",
                       "classifier.bias"};
  const RunPlan lacking = one.plan();
  CHECK(lacking.model.adapter->spec.saved_modules == std::vector<std::string>{"pooler", "classifier"});
  CHECK(lacking.model.trainable_parameters == numbers + 16 * 16 + 16);
}

TEST_CASE("what an adapter's file holds a second time counts on the disk") {
  const std::string shape =
      "vocab_size=64,hidden_size=16,num_hidden_layers=1,num_attention_heads=2,intermediate_size=32";
  Case one({"--task", "mlm", "--use_peft", "--lora_r", "2", "--lora_alpha", "0.5", "--save_only_model"});
  one.model.architecture = Architecture::from_scratch("bert", shape, Head::kMaskedLm);
  one.model.source_folder = "/base";
  const RunPlan frozen = one.plan();
  CHECK(frozen.model.adapter->spec.alpha == 0.5);
  CHECK(frozen.disk.checkpoint_bytes == 4 * frozen.model.trainable_parameters);
  for (const auto& parameter : one.model.architecture->parameters().parameters) {
    if (parameter.head) one.model.lacking.push_back(parameter.name);
  }
  const RunPlan whole = one.plan();
  // The embeddings and the bias of the words, under the names that peft looks for in a head.
  CHECK(whole.disk.checkpoint_bytes == 4 * (whole.model.trainable_parameters + 64 * 16 + 64));
}

TEST_CASE(
    "a plug-in's task keeps its name where that begins as a built-in one's, and other such words are the "
    "latter") {
  const auto row = [](const char* word) -> const tasks::TaskRow& {
    return task_row(Case({"--task", word, "--plugin", "/mine.so", "--source_prefix", "x"}).parsed);
  };
  CHECK(row("summarization_mine").name == "seq2seq");
  tasks::add_described_task(
      R"({"name": "summarization_mine", "head": "sequence_classification", "text": ["sentence1"], "labels": {"column": "label", "kind": "name"}})",
      "/mine.so");
  CHECK(row("summarization_mine").name == "summarization_mine");
  CHECK(row("summarization_xsum").name == "seq2seq");
}

TEST_CASE("modules that are saved whole are named by endings, as in peft") {
  const auto trained = [](const char* module) {
    Case one({"--use_peft", "--lora_r", "2", "--lora_modules_to_save", module});
    one.model.source_folder = "/base";
    return one.plan().model.trainable_parameters;
  };
  const int64_t norm = trained("ln_f") - 2 * 8;  // of width 8, weights and biases
  CHECK(trained("_f") == norm + 2 * 8);
  CHECK(trained("transformer.ln_f") == norm + 2 * 8);
  CHECK(trained("_2") == norm + 2 * 2 * 8);  // ln_2 of both blocks
  CHECK(trained("te") == norm + 100 * 8);    // wte
}

TEST_CASE("an opened adapter is not refused for its own modules in other words") {
  const auto mistakes = [](std::vector<std::string> flags, std::vector<std::string> targets,
                           const char* config = R"({"task_type": "SEQ_CLS"})") {
    flags.insert(flags.end(), "--use_peft");
    Case one(std::move(flags));
    one.model.source_folder = "/base";
    one.model.adapter_folder = "/adapter";
    one.model.adapter_config = config;
    one.model.adapter = architectures::AdapterSpec{.targets = std::move(targets), .saved_modules = {"ln_f"}};
    return one.error().render();
  };
  const std::string none = mistakes({}, {"c_attn"});
  CHECK(contains(none, "no error"));
  const std::vector<std::string> every = {"c_attn", "c_fc", "c_proj"};
  CHECK(mistakes({"--lora_target_modules", "all-linear"}, every) == none);
  CHECK(mistakes({"--lora_target_modules", "mlp.c_fc", "attn.c_proj", "mlp.c_proj", "c_attn"}, every) ==
        none);
  CHECK(contains(mistakes({"--lora_target_modules", "all-linear"}, {"c_attn"}),
                 "lora_target_modules is not what the adapter has"));
  CHECK(mistakes({"--lora_modules_to_save", "transformer.ln_f"}, every) == none);
  CHECK(contains(mistakes({"--lora_modules_to_save", "wte"}, every),
                 "lora_modules_to_save is not what the adapter has"));
  CHECK(contains(mistakes({"--lora_task_type", "CAUSAL_LM"}, every),
                 "lora_task_type is not what the adapter has"));
  const char* untold = R"({"task_type": null})";
  CHECK(contains(mistakes({"--lora_task_type", "SEQ_CLS"}, every, untold),
                 "lora_task_type SEQ_CLS is not that of the task"));
  CHECK(mistakes({"--lora_task_type", "CAUSAL_LM"}, every, untold) == none);
}

TEST_CASE("files that lack a parameter are refused by the plan, but for a head that is drawn anew") {
  ClassificationCase one;
  one.model.source_folder = "/base";
  one.model.lacking = {"score.weight"};
  CHECK(contains(one.error().render(), "no error"));
  one.model.has_head = true;
  CHECK(contains(one.error().render(), "the model's weights lack 'score.weight'"));
  one.model.has_head = false;
  one.model.lacking = {"transformer.h.0.mlp.c_fc.weight"};
  one.model.stored_shapes["transformer.h.0.mlp.c_fc.wieght"] = {{8, 32}, "model.safetensors"};
  CHECK(one.error().code() == ExitCode::kData);
  INFO(one.error().render());
  CHECK(contains(one.error().render(), "did you mean transformer.h.0.mlp.c_fc.wieght"));
}

TEST_CASE("an adapter of another task is not trained on, where the head would be lost") {
  ClassificationCase one({"--use_peft"});
  one.model.source_folder = "/base";
  one.model.adapter_folder = "/adapter";
  one.model.adapter_config = R"({"task_type": "CAUSAL_LM"})";
  one.model.adapter = architectures::AdapterSpec{.targets = {"c_attn"}};
  CHECK(contains(one.error().render(), "no error"));
  one.model.lacking = {"score.weight"};
  CHECK(contains(one.error().render(), "'score.weight' would start from random numbers"));
  one.model.adapter->saved_modules = {"score"};
  CHECK(contains(one.error().render(), "no error"));
}

TEST_CASE("an adapter's file that no rank could load is refused by the plan") {
  Case one({"--use_peft"});
  one.model.source_folder = "/base";
  one.model.adapter_folder = "/adapter";
  one.model.adapter_config = R"({"task_type": "CAUSAL_LM"})";
  one.model.adapter = architectures::AdapterSpec{.rank = 2, .targets = {"c_attn"}, .saved_modules = {"ln_f"}};
  const std::string prefix = "base_model.model.transformer.";
  const auto hold = [&](const std::string& name, std::vector<int64_t> shape) {
    one.model.adapter_shapes[prefix + name] = {std::move(shape), "adapter_model.safetensors"};
  };
  for (const char* block : {"h.0.attn.c_attn", "h.1.attn.c_attn"}) {
    hold(std::string(block) + ".lora_A.weight", {2, 8});
    hold(std::string(block) + ".lora_B.weight", {24, 2});
  }
  hold("ln_f.weight", {8});
  CHECK(contains(one.error().render(), "the adapter lacks 'base_model.model.transformer.ln_f.bias'"));
  CHECK(one.error().code() == ExitCode::kData);
  hold("ln_f.bias", {8});
  hold("ln_f.modules_to_save.bias", {8});  // what peft's wrapper has, and says nothing more
  hold("ln_f.original_module.bias", {8});
  hold("ln_2.bias", {8});  // of no module that its config names
  CHECK(contains(one.error().render(), "no error"));
  hold("h.1.attn.c_attn.lora_B.weight", {16, 2});
  const std::string wrong = one.error().render();
  CHECK(contains(wrong, "'base_model.model.transformer.h.1.attn.c_attn.lora_B.weight' has the wrong shape"));
  CHECK(contains(wrong, "/adapter/adapter_model.safetensors"));
  hold("h.1.attn.c_attn.lora_B.weight", {24, 2});
  hold("h.2.attn.c_attn.lora_B.weight", {24, 2});
  CHECK(contains(one.error().render(), "no place for 'transformer.h.2.attn.c_attn.lora_B.weight'"));
}

TEST_CASE("a file that repeats the defaults of an adapter says nothing against the task or the adapter") {
  Case one({"--use_peft"});
  one.model.source_folder = "/base";
  one.model.adapter_folder = "/adapter";
  one.model.adapter_config = R"({"task_type": "SEQ_CLS"})";
  one.model.adapter =
      architectures::AdapterSpec{.rank = 3, .alpha = 5, .dropout = 0.25, .targets = {"c_attn"}};
  for (const char* flag : {"lora_r", "lora_alpha", "lora_dropout", "lora_task_type"})
    one.parsed.origins.set_repeated(flag, "run.yaml:1:1");
  CHECK(contains(one.error().render(), "no error"));
  CHECK(adapter_spec(one.input())->dropout == 0.25);
}

TEST_CASE(
    "an adapter names its base as others find it: by name and revision on the Hub, else by its folder") {
  const auto config = [](const std::string& name, const std::string& revision) {
    Case one({"--use_peft"});
    one.model.source_folder = "/cache/models--org--base/snapshots/c1";
    one.model.hub_name = name;
    one.model.hub_revision = revision;
    return parse_json(resolve(one.input()).model.adapter->config, "config");
  };
  const Json of_main = config("org/base", "main"), of_tag = config("org/base", "v2"),
             of_path = config("", "");
  CHECK(of_main["base_model_name_or_path"] == "org/base");
  CHECK(of_main["revision"].is_null());
  CHECK(of_tag["revision"] == "v2");
  CHECK(of_path["base_model_name_or_path"] == "/cache/models--org--base/snapshots/c1");
  CHECK(of_path["revision"].is_null());
}

TEST_CASE("an adapter is not saved beside the weights of a model, and an opened one keeps its file's text") {
  Case one({"--use_peft"});
  one.model.source_folder = "/base";
  one.model.adapter_folder = "/adapter";
  one.model.adapter_config = "{ }\n";
  one.model.adapter = architectures::AdapterSpec{.targets = {"c_attn"}};
  ResolveInput input = one.input();
  CHECK(resolve(input).model.adapter->config == "{ }\n");
  input.output_has_weights = true;
  CHECK_THROWS_WITH(resolve(input), Catch::Contains("the output folder holds the weights of a model"));
}

TEST_CASE("keys of an adapter's config that nothing reads are told once, whatever the run does") {
  const auto notes = [](const char* config, std::vector<std::string> flags) {
    Case one(std::move(flags));
    one.model.source_folder = "/base";
    one.model.adapter_folder = "/adapter";
    one.model.adapter_config = config;
    one.model.adapter = architectures::AdapterSpec{.targets = {"c_attn"}};
    return one.notes();
  };
  const char* later = R"({"r": 8, "nora_size": 16})";
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--use_peft"}, std::vector<std::string>{"--do_eval"}}) {
    const std::string told = notes(later, flags);
    CHECK(contains(told,
                   "not known here and have no effect: nora_size (16)\n  where: /adapter/adapter_config"));
    CHECK_FALSE(contains(notes(R"({"r": 8, "megatron_core": "megatron.core"})", flags), "not known here"));
  }
}

TEST_CASE(
    "beside an adapter the form of checkpoints is told to do nothing, and the plan says that it is saved "
    "whole") {
  const auto of = [](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--fsdp", "full_shard"});
    Case one(std::move(flags), machine(2));
    one.model.source_folder = "/base";
    return one;
  };
  const Case parts = of({"--use_peft", "--fsdp_config", R"({"state_dict_type": "SHARDED_STATE_DICT"})"});
  CHECK(
      contains(parts.notes(), "SHARDED_STATE_DICT has no effect beside an adapter\n  where: --fsdp_config"));
  CHECK(contains(describe_plan(parts.plan(), machine(2), {}), "an adapter saved whole"));
  const Case local =
      of({"--use_peft", "--fsdp_config", R"({"version": 1, "state_dict_type": "LOCAL_STATE_DICT"})"});
  CHECK(contains(local.notes(), "LOCAL_STATE_DICT has no effect beside an adapter"));
  CHECK_FALSE(contains(of({"--use_peft"}).notes(), "STATE_DICT"));
  // What accelerate fills in is nobody's wish.
  const auto launched = [](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--use_peft", "--use_fsdp", "--fsdp_version", "2"});
    Case one(std::move(flags), machine(2));
    one.model.source_folder = "/base";
    return one;
  };
  CHECK_FALSE(contains(launched({}).notes(), "STATE_DICT"));
  CHECK(launched({}).plan().strategy.state_dict == "full");
  CHECK(contains(launched({"--fsdp_state_dict_type", "SHARDED_STATE_DICT"}).notes(),
                 "SHARDED_STATE_DICT has no effect beside an adapter\n  where: --fsdp_state_dict_type"));
  const Case model = of({"--fsdp_config", R"({"state_dict_type": "SHARDED_STATE_DICT"})"});
  CHECK_FALSE(contains(model.notes(), "STATE_DICT"));
  CHECK(contains(describe_plan(model.plan(), machine(2), {}), "sharded state dict"));
}

TEST_CASE("second sets are planned where they are evaluated or predicted, and counted") {
  const auto plan_of = [](std::vector<std::string> flags, int64_t samples) {
    flags.insert(flags.end(), {"--task_name", "mnli"});
    ClassificationCase one(std::move(flags));
    for (auto* set : {&one.data.validation_mismatched, &one.data.test_mismatched})
      *set = SplitFacts{.cache_path = "mm", .samples = samples, .tokens = 5 * samples, .exact = true};
    one.data.test = SplitFacts{.cache_path = "t", .samples = 3, .tokens = 15, .exact = true};
    return one.plan();
  };
  const std::vector<std::string> predicts = {"--do_eval", "--do_predict", "--test_file",
                                             "t.csv",     "--model_type", "gpt2"};
  const RunPlan both = run_plan_from_json(to_json_value(plan_of(predicts, 7)), "plan.json");
  REQUIRE(both.data.validation_mismatched);
  REQUIRE(both.data.test_mismatched);
  CHECK(both.data.validation_mismatched->samples == 7);
  CHECK(plan_of(predicts, 1'000'000).evaluation.kept_bytes > both.evaluation.kept_bytes);
  const RunPlan trains = plan_of({"--do_train"}, 7);
  CHECK_FALSE(trains.data.validation_mismatched);
  CHECK_FALSE(trains.data.test_mismatched);
}

TEST_CASE("workers read the task, its columns and its padding from the plan's file") {
  const RunPlan plan = ClassificationCase({"--no_pad_to_max_length"}).plan();
  const RunPlan copy = run_plan_from_json(to_json_value(plan), "plan.json");
  CHECK(copy.data.task == tasks::Task::kTextClassification);
  CHECK(copy.data.train->columns == plan.data.train->columns);
  CHECK_FALSE(copy.data.padding.length);
  REQUIRE(copy.data.padding.columns.size() == 3);
  CHECK(copy.data.padding.columns[1].form == data::PaddedColumn::Form::kMask);
  CHECK(copy.data.padding.columns[2].form == data::PaddedColumn::Form::kScalar);
  CHECK(plan_hash(copy) == plan_hash(plan));
}

TEST_CASE("a language model's plan has blocks, and no padding") {
  const RunPlan plan = Case().plan();
  CHECK(plan.data.task == tasks::Task::kCausalLm);
  CHECK(plan.data.padding.columns.empty());
  CHECK(plan.data.train->columns == std::vector<std::string>{"input_ids"});
  CHECK_FALSE(plan.model.generation_config.empty());
}

// "no error", with kDone, where it reads all of them.
Error refused_flags(const Case& run) {
  try {
    require_flags_of_task(run.parsed);
  } catch (const Error& error) {
    return error;
  }
  return Error(ExitCode::kDone, "no error");
}

TEST_CASE("flags of another task are refused by name") {
  const Error clm = refused_flags(Case({"--max_seq_length", "32"}));
  CHECK(clm.code() == ExitCode::kUsage);
  CHECK(contains(clm.render(), "--task clm does not read --max_seq_length"));
  CHECK(contains(refused_flags(Case({"--task_name", "mrpc"})).render(),
                 "try: --task text-classification or --task token-classification; or leave it out"));
  CHECK(
      contains(refused_flags(Case({"--task", "mlm", "--task_name", "mrpc"})).render(), "try: leave it out"));
  CHECK(contains(clm.render(), "text-classification"));
  const Error classification = refused_flags(ClassificationCase({"--block_size", "32"}));
  CHECK(classification.code() == ExitCode::kUsage);
  CHECK(contains(classification.render(), "--task text-classification does not read --block_size"));
  CHECK(contains(refused_flags(ClassificationCase({"--label_column_name", "kind"})).render(),
                 "call the column of labels 'label'"));
}

TEST_CASE("the length that another task calls otherwise is named") {
  const auto says = [](const Case& run, const char* words) {
    return contains(refused_flags(run).render(), words);
  };
  CHECK(says(Case({"--max_seq_length", "32"}), "--block_size limits its samples"));
  CHECK(says(ClassificationCase({"--block_size", "32"}), "--max_seq_length limits its samples"));
  CHECK(says(Case({"--task", "sft", "--max_seq_length", "32"}), "--max_length limits its samples"));
  CHECK(says(ClassificationCase({"--keep_linebreaks"}), "leave it out"));
  CHECK(refused_flags(ClassificationCase({"--max_seq_length", "32"})).code() == ExitCode::kDone);
}

TEST_CASE("what a classification cannot do is refused before it begins") {
  const Error longer = ClassificationCase({"--max_seq_length", "65"}).error();
  CHECK(longer.code() == ExitCode::kUsage);
  CHECK(contains(longer.render(), "longer than the model's 64 positions"));
  CHECK(contains(longer.render(), "--max_seq_length 64"));
  ClassificationCase unpadded;
  unpadded.model.special_tokens->pad.reset();
  CHECK(unpadded.error().code() == ExitCode::kData);
  CHECK(contains(unpadded.error().render(), "the tokenizer has no padding token"));
}

TEST_CASE("a plan says what evaluation keeps and which metrics the task has") {
  const std::vector<std::string> evaluates = {"--eval_strategy", "epoch", "--metric_for_best_model"};
  const auto with = [&](const std::string& metric) {
    std::vector<std::string> flags = evaluates;
    flags.push_back(metric);
    return flags;
  };
  const RunPlan plan = ClassificationCase(with("accuracy")).plan();
  CHECK(plan.evaluation.metric_for_best_model == "eval_accuracy");
  CHECK(plan.evaluation.outputs == tasks::OutputForm::kBestIds);
  CHECK(plan.evaluation.scoring.at("metric") == "accuracy");
  CHECK(Case(with("eval_accuracy")).plan().evaluation.outputs == tasks::OutputForm::kBestIds);
  const Error unknown = ClassificationCase(with("acuracy")).error();
  CHECK(unknown.code() == ExitCode::kUsage);
  CHECK(contains(unknown.render(), "there is no metric 'acuracy'"));
  CHECK(contains(unknown.render(), "did you mean accuracy?"));
  CHECK(contains(unknown.render(), "loss, accuracy, runtime, samples_per_second, steps_per_second"));
  std::vector<std::string> of_program = with("mine");
  of_program.insert(of_program.end(), {"--worker_program", "./mine"});
  CHECK(ClassificationCase(of_program).plan().evaluation.metric_for_best_model == "eval_mine");
  ClassificationCase regression(with("accuracy"));
  regression.data.of_task = {{"kind", "regression"}, {"names", Json::array()}};
  CHECK(contains(regression.error().render(), "loss, mse, runtime"));
}

TEST_CASE("the plan follows what is said of evaluation's outputs") {
  const EvaluationPlan usual = ClassificationCase().plan().evaluation;
  CHECK(usual.accumulation_steps == 1);
  CHECK(usual.joins_batches);
  CHECK_FALSE(usual.gives_inputs);
  CHECK_FALSE(usual.gives_losses);
  CHECK_FALSE(usual.shows_running_metrics);
  CHECK(usual.label_columns == std::vector<std::string>{"labels"});
  const EvaluationPlan other =
      ClassificationCase({"--eval_accumulation_steps", "7", "--no_eval_do_concat_batches",
                          "--batch_eval_metrics", "--include_for_metrics", "inputs", "loss", "--label_names",
                          "labels", "attention_mask", "--eval_strategy", "epoch", "--metric_for_best_model",
                          "loss_std"})
          .plan()
          .evaluation;
  CHECK(other.accumulation_steps == 7);
  CHECK_FALSE(other.joins_batches);
  CHECK(other.gives_inputs);
  CHECK(other.gives_losses);
  CHECK(other.shows_running_metrics);
  CHECK(other.label_columns == std::vector<std::string>{"labels", "attention_mask"});
  const Error unknown = ClassificationCase({"--label_names", "label"}).error();
  CHECK(unknown.code() == ExitCode::kUsage);
  CHECK(contains(unknown.render(), "a batch has no column 'label'"));
  CHECK(contains(unknown.render(), "input_ids, attention_mask, labels"));
}

TEST_CASE("columns of batches of images are told where another one is named") {
  Case images({"--task", "image-classification", "--label_names", "classes"});
  images.model.architecture = Architecture::from_scratch(
      "vit", "hidden_size=8,intermediate_size=8,num_hidden_layers=1,num_attention_heads=2,image_size=32",
      Head::kImageClassification);
  images.data.of_task = {{"kind", "classes"}, {"names", {"cat", "dog"}}};
  CHECK(contains(images.error().render(), "have pixel_values, labels"));
}

TEST_CASE("columns that are no labels of the task cannot take their place where metrics are made") {
  const std::vector<std::string> flags = {"--do_train", "--do_eval", "--label_names", "attention_mask"};
  const Error unjudged = ClassificationCase(flags).error();
  CHECK(unjudged.code() == ExitCode::kUsage);
  CHECK(contains(unjudged.render(), "the metrics have no labels to judge by"));
  CHECK(contains(unjudged.render(), "--prediction_loss_only"));
  std::vector<std::string> loss_only = flags;
  loss_only.push_back("--prediction_loss_only");
  CHECK(ClassificationCase(loss_only).plan().evaluation.label_columns ==
        std::vector<std::string>{"attention_mask"});
}

TEST_CASE("with prediction_loss_only nothing is kept, no metric is known, and nothing can be written") {
  const std::vector<std::string> flags = {"--prediction_loss_only", "--eval_strategy", "epoch"};
  const EvaluationPlan plan = ClassificationCase(flags).plan().evaluation;
  CHECK(plan.outputs == tasks::OutputForm::kLossOnly);
  std::vector<std::string> metric = flags, predicts = flags;
  metric.insert(metric.end(), {"--metric_for_best_model", "accuracy"});
  CHECK(contains(ClassificationCase(metric).error().render(), "gives loss, runtime"));
  predicts.insert(predicts.end(), {"--do_predict", "--test_file", "a.csv"});
  CHECK(contains(ClassificationCase(predicts).error().render(),
                 "prediction_loss_only leaves nothing to write"));
}

TEST_CASE("labels that are numbers are not smoothed in silence") {
  CHECK(ClassificationCase({"--label_smoothing_factor", "0.1"}).plan().optimizer.label_smoothing == 0.1);
  ClassificationCase smoothed({"--label_smoothing_factor", "0.1"});
  smoothed.data.of_task = Json{{"kind", "regression"}, {"names", Json::array()}};
  CHECK(smoothed.error().code() == ExitCode::kUsage);
  CHECK(contains(smoothed.error().render(), "--label_smoothing_factor"));
}

TEST_CASE("labels of question answering, and several of a row, are not smoothed, which is told") {
  Case asked({"--label_smoothing_factor", "0.1", "--task", "question-answering"});
  asked.model.architecture = Architecture::from_scratch(
      "gpt2", asked.parsed.arguments.model.config_overrides.value_or(""), Head::kQuestionAnswering);
  RunPlan plan;
  plan.optimizer = resolve_optimizer(asked.input());
  CHECK(plan.optimizer.label_smoothing == 0);
  std::vector<Diagnostic> notes;
  note_label_smoothing(asked.input(), plan, notes);
  REQUIRE(notes.size() == 1);
  CHECK(contains(notes[0].render(), "label_smoothing_factor has no effect here"));
  CHECK(contains(notes[0].render(), "places of answers"));
  notes.clear();
  ClassificationCase several({"--label_smoothing_factor", "0.1"});
  several.data.of_task = Json{{"kind", "multi_label"}, {"names", {"a", "b"}}};
  plan = several.plan();
  CHECK(plan.optimizer.label_smoothing == 0);
  several.data = {};  // as notes are made
  note_label_smoothing(several.input(), plan, notes);
  REQUIRE(notes.size() == 1);
  CHECK(contains(notes[0].render(), "several labels at once"));
  notes.clear();
  ClassificationCase smoothed({"--label_smoothing_factor", "0.1"});
  note_label_smoothing(smoothed.input(), smoothed.plan(), notes);
  CHECK(notes.empty());
}

TEST_CASE("TRL's words for the loss and for offload act in the plan of instruction data") {
  const auto plan_with = [](const std::vector<std::string>& more) {
    std::vector<std::string> flags = {"--task", "sft", "--max_length", "32", "--gradient_checkpointing"};
    flags.insert(flags.end(), more.begin(), more.end());
    return Case(flags, machine(1)).plan();
  };
  CHECK_FALSE(plan_with({}).model.checkpoint_offload);
  CHECK(plan_with({"--activation_offloading"}).model.checkpoint_offload);
  CHECK_FALSE(plan_with({"--loss_type", "chunked_nll"}).optimizer.loss_by_probability);
  CHECK(plan_with({"--loss_type", "dft"}).optimizer.loss_by_probability);
}

TEST_CASE("the card of a model that is pushed has the name of its repository") {
  const auto repository = [](const std::vector<std::string>& flags) {
    return Case(flags, machine(1)).plan().saving.repository;
  };
  CHECK(repository({"--push_to_hub", "--hub_model_id", "org/named"}) == "named");
  CHECK(repository({"--push_to_hub", "--hub_model_id", "named"}) == "named");
  CHECK(repository({"--push_to_hub"}).empty());
  CHECK(repository({"--hub_model_id", "org/named"}).empty());
}

TEST_CASE("data with a token that the model does not know are refused before the run") {
  Case run({}, machine(1));
  const int64_t vocabulary = run.model.architecture->vocab_size();
  run.data.train->largest_token_id = vocabulary - 1;
  CHECK(run.error().code() == ExitCode::kDone);
  run.data.train->largest_token_id = vocabulary;
  CHECK(run.error().code() == ExitCode::kData);
  CHECK(contains(run.error().render(), "token " + std::to_string(vocabulary)));
  CHECK(contains(run.error().render(), "the training data"));
}

TEST_CASE("rows that nothing cuts and the model has no positions for are refused before the run") {
  const auto with = [](std::vector<std::string> flags, int64_t longest) {
    flags.insert(flags.begin(), {"--task", "sft", "--max_length", "null"});
    Case run(flags, machine(1));
    run.data.validation->longest = longest;
    return run.error();
  };
  const int64_t positions = Case({}, machine(1)).model.architecture->max_positions();
  CHECK(with({"--do_train", "--do_eval"}, positions).code() == ExitCode::kDone);
  const Error error = with({"--do_train", "--do_eval"}, positions + 1);
  CHECK(error.code() == ExitCode::kData);
  CHECK(contains(error.render(), "a sample of " + std::to_string(positions + 1) + " tokens"));
  CHECK(contains(error.render(), "the validation data"));
  CHECK(contains(error.render(), "--max_length " + std::to_string(positions)));
}

TEST_CASE("the default length of instruction data ends where a model's learned positions do") {
  const auto with = [](const std::vector<std::string>& more) {
    std::vector<std::string> flags = {"--task", "sft"};
    flags.insert(flags.end(), more.begin(), more.end());
    return Case(flags, machine(1));
  };
  const int64_t positions = with({}).model.architecture->max_positions();
  REQUIRE(positions < 1024);
  REQUIRE(with({}).model.architecture->learned_positions());
  CHECK(with({}).plan().data.block_size == positions);
  CHECK(contains(with({}).notes(),
                 "samples of at most " + std::to_string(positions) + " tokens, not the 1024"));
  CHECK(with({"--max_length", "8"}).plan().data.block_size == 8);
  CHECK(contains(with({"--max_length", "1024"}).error().render(), "longer than the model's"));
  CHECK(with({"--resize_position_embeddings"}).plan().data.block_size == 1024);
}

TEST_CASE("no generation_config.json is promised for a model that generates nothing") {
  CHECK(contains(ClassificationCase().notes(), "the saved config.json gets the tokenizer's"));
}

TEST_CASE("a length above the tokenizer's limit is cut, with a warning") {
  ClassificationCase limited;
  limited.model.tokenizer_max_length = 16;
  CHECK(limited.plan().data.block_size == 16);
  CHECK(contains(limited.notes(), "samples of at most 16 tokens instead of 32"));
}

TEST_CASE("a family that counts positions from its padding counts them from the tokenizer's") {
  const auto reading = [](int64_t pad, const char* length) {
    ClassificationCase run({"--max_seq_length", length});
    run.model.architecture = Architecture::from_scratch(
        "roberta",
        "hidden_size=8,num_attention_heads=2,num_hidden_layers=1,intermediate_size=8,vocab_size=100,"
        "max_position_embeddings=34",
        Head::kSequenceClassification);
    run.model.special_tokens->pad = pad;
    return run;
  };
  CHECK(reading(1, "32").plan().model.config["pad_token_id"] == 1);
  CHECK(reading(0, "33").plan().data.block_size == 33);
  CHECK(contains(reading(5, "32").error().render(), "32 tokens are longer than the model's 28 positions"));
  const Error none = reading(40, "32").error();
  CHECK(none.code() == ExitCode::kData);
  CHECK(contains(none.render(),
                 "pad_token_id must be a token, and max_position_embeddings more than one above"));
}

TEST_CASE("rows that are classified by their last end of text need a tokenizer that has one") {
  ClassificationCase run;
  run.model.architecture = Architecture::from_scratch(
      "bart",
      "d_model=8,encoder_layers=1,decoder_layers=1,encoder_attention_heads=2,decoder_attention_heads=2,"
      "encoder_ffn_dim=8,decoder_ffn_dim=8,max_position_embeddings=64,vocab_size=100",
      Head::kSequenceClassification);
  CHECK(run.plan().model.config["eos_token_id"] == 1);
  run.model.special_tokens->eos.reset();
  CHECK(run.error().code() == ExitCode::kData);
  CHECK(contains(run.error().render(), "the tokenizer has no end of text"));
}

TEST_CASE("a plan has a task that a plug-in describes, and another process reads it that knows it too") {
  tasks::add_described_task(
      R"({"name": "of-a-plan", "head": "sequence_classification", "text": "text", "max_length": 24,
                                "labels": {"column": "label", "kind": "name"}, "metrics": ["mine"]})",
      "/lib/mine.so");
  ClassificationCase one({"--plugin", "/lib/mine.so", "--do_eval", "--load_best_model_at_end",
                          "--eval_strategy", "steps", "--metric_for_best_model", "mine", "--max_seq_length",
                          "16"});
  one.parsed.arguments.run.task = "of-a-plan";
  const RunPlan plan = one.plan();
  CHECK(plan.data.task == tasks::task_named("of-a-plan"));
  CHECK(plan.data.block_size == 16);
  CHECK(plan.data.padding.length == 0);
  CHECK(plan.model.config["id2label"] == Json({{"0", "bad"}, {"1", "fair"}, {"2", "good"}}));
  CHECK(plan.evaluation.metric_for_best_model == "eval_mine");
  const Json text = to_json_value(plan);
  CHECK(text["data"]["task"] == "of-a-plan");
  CHECK(run_plan_from_json(text, "the test").data.task == plan.data.task);
  one.parsed.arguments.saving.metric_for_best_model = "yours";
  CHECK(contains(one.error().render(), "evaluation of --task of-a-plan gives loss, accuracy, mine, runtime"));
}

TEST_CASE("a task that neither the program nor the plug-in has is refused in words") {
  Case one({"--plugin", "/lib/mine.so", "--task", "text-clasification"});
  CHECK_REFUSED(task_row(one.parsed), "there is no task 'text-clasification'");
  CHECK_REFUSED(task_row(one.parsed), "neither hftrain has one nor does --plugin describe it");
  CHECK_REFUSED(task_row(one.parsed), "did you mean text-classification?");
}

}  // namespace
TEST_CASE("rows that the last incomplete batch takes along are told where they are judged or predicted") {
  const auto notes = [](std::vector<std::string> flags, int64_t samples) {
    flags.insert(flags.end(), {"--do_predict", "--test_file", "t.txt", "--per_device_eval_batch_size", "2"});
    Case run(std::move(flags));
    run.data.test = SplitFacts{.cache_path = "t", .samples = samples, .tokens = samples * 64, .exact = true};
    return run.notes();
  };
  const char* told = "there is no prediction for ";
  CHECK(contains(notes({"--dataloader_drop_last"}, 7), std::string(told) + "1 of 7 samples"));
  CHECK(contains(notes({"--dataloader_drop_last", "--nproc_per_node", "2"}, 7),
                 std::string(told) + "3 of 7 samples"));
  CHECK_FALSE(contains(notes({"--dataloader_drop_last"}, 8), told));
  CHECK_FALSE(contains(notes({}, 7), told));
  Case judged({"--do_eval", "--validation_file", "v.txt", "--dataloader_drop_last",
               "--per_device_eval_batch_size", "2"});
  judged.data.validation = SplitFacts{.cache_path = "v", .samples = 7, .tokens = 7 * 64, .exact = true};
  CHECK(contains(judged.notes(), "the evaluation leaves out 1 of 7 samples"));
}

}  // namespace hftrain::plan
