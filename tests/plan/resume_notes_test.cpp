#include "hftrain/plan/resolve.h"

#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

TEST_CASE("another number of ranks keeps the global batch of the saved run where flags leave room") {
  const auto resumed = [](std::vector<std::string> flags, SavedRun saved) {
    const Case run(flags);
    ResolveInput input = run.input();
    input.saved = saved;
    const RunPlan plan = resolve(input);
    std::string notes;
    for (const Diagnostic& note : plan_notes(input, plan)) notes += note.render() + '\n';
    return std::pair(plan.batch, notes);
  };
  const auto check = [&](std::vector<std::string> flags, SavedRun saved, int64_t micro, int64_t steps,
                         const std::string& said) {
    INFO(said);
    const auto [batch, notes] = resumed(std::move(flags), saved);
    CHECK(batch.per_device_train == micro);
    CHECK(batch.accumulation_steps == steps);
    CHECK(contains(notes, said));
  };
  const std::string two = "--nproc_per_node=2", four = "--nproc_per_node=4", three = "--nproc_per_node=3";
  const std::string by_two = "--per_device_train_batch_size=2", twice = "--gradient_accumulation_steps=2";
  // Fewer ranks take more micro-batches, more ranks fewer of them, and then smaller ones.
  check({two, by_two}, {4, 8}, 2, 2, "2 ranks instead of 4 and keeps its global batch of 8");
  check({by_two}, {4, 8}, 2, 4, "1 rank instead of 4 and keeps its global batch of 8");
  check({four, by_two}, {2, 16}, 2, 2, "keeps its global batch of 16");
  check({four}, {2, 16}, 4, 1, "keeps its global batch of 16");
  // What the user gave is obeyed, and what would keep the batch is said.
  check({two, by_two, "--gradient_accumulation_steps=1"}, {4, 8}, 2, 1,
        "--gradient_accumulation_steps 2 keeps it");
  check({two, "--per_device_train_batch_size=4", twice}, {4, 16}, 4, 2, "keeps its global batch of 16");
  check({two, twice}, {4, 8}, 2, 2, "keeps its global batch of 8");
  check({three, by_two}, {4, 8}, 2, 1, "a global batch of 6 instead of 8");
  check({three, by_two}, {4, 8}, 2, 1, "no number of times makes 8");
  // The same ranks: whatever is asked, without a word.
  CHECK_FALSE(contains(resumed({four, by_two}, {4, 80}).second, "global batch"));
  CHECK(resumed({four, by_two}, {4, 80}).first.global_train == 8);
}

TEST_CASE("a run that goes on with other intervals, another batch or version is told so") {
  const auto notes_of = [](std::vector<std::string> flags, const SavedRun& saved) {
    const Case run(std::move(flags));
    ResolveInput input = run.input();
    input.saved = saved;
    std::string text;
    for (const Diagnostic& note : plan_notes(input, resolve(input))) {
      if (note.severity == Diagnostic::Severity::kWarning) text += note.render() + '\n';
    }
    return text;
  };
  const std::vector<std::string> flags = {"--logging_steps", "5",     "--save_steps", "20",
                                          "--eval_strategy", "steps", "--eval_steps", "10"};
  const std::string version = Case().plan().model.config["transformers_version"];
  SavedRun same{1, 8, {}, version};
  same.settings = {
      {"logging_steps", 5}, {"eval_steps", 10}, {"save_steps", 20}, {"per_device_train_batch_size", 8}};
  CHECK(notes_of(flags, same).empty());
  SavedRun other = same;
  other.settings = {{"logging_steps", 50}, {"eval_steps", 10}, {"per_device_train_batch_size", 4}};
  CHECK(contains(notes_of(flags, other),
                 "logging_steps 5 instead of 50, per_device_train_batch_size 8 instead of 4"));
  CHECK_FALSE(contains(notes_of(flags, other), "save_steps"));  // the file does not have it
  other = same;
  other.settings["eval_steps"] = 500;
  other.settings["save_steps"] = 40;
  CHECK(contains(notes_of(flags, other), "eval_steps 10 instead of 500, save_steps 20 instead of 40"));
  other = same;
  other.transformers_version = "4.30.0";
  CHECK(contains(notes_of(flags, other), "transformers 4.30.0"));
  // Of a checkpoint without a state of ours the batch of an update is not known, and that of a rank is.
  other = same;
  other.world_size = 2;
  other.global_train = 0;
  CHECK(notes_of(flags, other).empty());
  other.settings["per_device_train_batch_size"] = 4;
  CHECK(contains(notes_of(flags, other),
                 "checkpoint was saved with: per_device_train_batch_size 8 instead of 4"));
  // One process of several GPUs wrote what they had together.
  other.world_size = 1;
  other.settings["per_device_train_batch_size"] = 16;
  CHECK_FALSE(contains(notes_of({"--nproc_per_node", "2"}, other), "per_device_train_batch_size"));
  CHECK(contains(notes_of({}, other), "per_device_train_batch_size 8 instead of 16"));
}

TEST_CASE(
    "a run goes on with types of tokens as its checkpoint was trained, and says so where a new one would "
    "not") {
  const auto outcome = [](std::optional<bool> before, bool now) {
    Case run({"--task", "text-classification", "--max_seq_length", "32"});
    run.model.architecture =
        architectures::Architecture::from_scratch("bert", "", architectures::Head::kSequenceClassification);
    run.model.special_tokens = SpecialTokens{.bos = 1, .eos = 1, .pad = 2};
    run.model.tokenizer_names_types = now;
    run.data.of_task = {{"kind", "classes"}, {"names", {"bad", "good"}}};
    run.data.train->columns = {"input_ids", "token_type_ids", "labels"};
    ResolveInput input = run.input();
    input.saved = SavedRun{.token_types = before};
    const RunPlan plan = resolve(input);
    std::string text = plan.data.gives_token_types() ? "types; " : "none; ";
    for (const Diagnostic& note : plan_notes(input, plan)) text += note.render() + '\n';
    return text;
  };
  const std::string with = outcome(true, false), without = outcome(false, true);
  CHECK(contains(with, "types; "));
  CHECK(contains(with, "the run goes on with types of tokens, as its checkpoint was trained"));
  CHECK(contains(without, "none; "));
  CHECK(contains(without, "the run goes on without types of tokens"));
  for (const bool now : {false, true}) {
    CHECK_FALSE(contains(outcome(now, now), "types of tokens"));
    CHECK(contains(outcome(now, now), now ? "types; " : "none; "));
    CHECK(contains(outcome(std::nullopt, now), now ? "types; " : "none; "));
  }
}

TEST_CASE("a run that goes on with another optimizer is refused, or told where it takes the same moments") {
  // "": nothing; else what is refused or told.
  const auto outcome = [](const std::string& before, std::vector<std::string> flags) {
    const Case run(std::move(flags));
    ResolveInput input = run.input();
    input.saved = SavedRun{.optimizer = before};
    try {
      std::string text;
      for (const Diagnostic& note : plan_notes(input, resolve(input))) {
        if (contains(note.render(), "the optimizer")) text += "told: " + note.render();
      }
      return text;
    } catch (const Error& error) {
      return std::to_string(static_cast<int>(error.code())) + ": " + error.render();
    }
  };
  for (const char* same : {"adamw_torch", "adamw_torch_fused", "adamw_hf"}) {
    for (const char* now : {"adamw_torch", "adamw_torch_fused", "adamw_hf"})
      CHECK(outcome(same, {"--optim", now}).empty());
    const std::string refused = outcome(same, {"--optim", "sgd"});
    CHECK(contains(refused,
                   "2: error: the saved optimizer is \"" + std::string(same) + "\", this run's is \"sgd\""));
    CHECK(contains(refused, "--optim " + std::string(same) + ", or a new run in another --output_dir"));
    CHECK(contains(outcome(same, {"--optim", "adam"}),
                   "told: the run goes on with the optimizer adam instead of "));
    CHECK(contains(outcome(same, {"--optim", "adamw_anyprecision"}), "2: error: the saved optimizer"));
  }
  CHECK(contains(outcome("lion_32bit", {}), "this run's is \"adamw_torch_fused\""));
  CHECK(contains(outcome("own", {}), "the program that the checkpoint is from, or"));
  CHECK(outcome("", {"--optim", "sgd"}).empty());  // nobody knows
  CHECK(outcome("sgd", {"--optim", "sgd", "--optim_args", "momentum=0.5"}).empty());
  CHECK(outcome("sgd", {"--optim", "sgd", "--do_eval", "--do_train", "false"}).empty());
}

TEST_CASE("a run that goes on with other options of its optimizer is told what may be left behind") {
  const auto warned = [](std::map<std::string, std::string> before, std::vector<std::string> more) {
    more.insert(more.begin(), {"--optim", "sgd"});
    const Case run(std::move(more));
    ResolveInput input = run.input();
    input.saved = SavedRun{.optimizer = "sgd", .optimizer_options = std::move(before)};
    std::string text;
    for (const Diagnostic& note : plan_notes(input, resolve(input))) {
      if (contains(note.render(), "other options")) text += note.render();
    }
    return text;
  };
  CHECK(warned({}, {}).empty());
  CHECK(warned({{"momentum", "0.5"}}, {"--optim_args", "momentum=0.5"}).empty());
  const std::string less = warned({{"momentum", "0.5"}}, {"--optim_args", "momentum=0.9"});
  CHECK(contains(less, "goes on with other options of sgd: momentum=0.9 instead of momentum=0.5"));
  CHECK(contains(less, "--optim_args momentum=0.5 where the run is to be the same"));
}

TEST_CASE("a run whose options keep other things of a gradient than its checkpoint has is refused") {
  using Options = std::map<std::string, std::string>;
  const auto refusal = [](const char* optimizer, const Options& before, const std::string& now,
                          bool its_own = true) {
    std::vector<std::string> flags = {"--optim", optimizer};
    if (!now.empty()) flags.insert(flags.end(), {"--optim_args", now});
    const Case run(std::move(flags));
    ResolveInput input = run.input();
    input.saved =
        SavedRun{.optimizer = optimizer, .optimizer_options = before, .options_are_its_own = its_own};
    try {
      resolve(input);
      return std::string();
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      return error.render();
    }
  };
  const std::string more = refusal("sgd", {{"momentum", "0.5"}}, "");
  CHECK(contains(more, "the checkpoint keeps more of the optimizer than this run: momentum_buffer"));
  CHECK(contains(more, "options of sgd here: none; there: momentum=0.5"));
  CHECK(contains(more, "--optim_args momentum=0.5, or a new run"));
  const std::string less = refusal("sgd", {}, "momentum=0.5");
  CHECK(contains(less, "keeps less of the optimizer than this run: momentum_buffer"));
  CHECK(contains(less, "leave --optim_args out, or a new run"));
  CHECK(contains(refusal("rmsprop", {{"centered", "true"}}, "momentum=0.5"),
                 "keeps more of the optimizer than this run: grad_avg"));
  CHECK(
      contains(refusal("rmsprop", {}, "centered=true,momentum=0.1"), "this run: grad_avg, momentum_buffer"));
  CHECK(contains(refusal("adamw_anyprecision", {{"use_kahan_summation", "True"}}, ""),
                 "than this run: compensation"));
  for (const char* same : {"momentum=0.5", "momentum=0.9,dampening=0.1"})
    CHECK(refusal("sgd", {{"momentum", "0.5"}}, same).empty());
  CHECK(refusal("rmsprop", {{"centered", "false"}}, "momentum=0").empty());
  // A plan that lies beside a checkpoint may be of another start; its ranks see what it keeps.
  CHECK(refusal("sgd", {{"momentum", "0.5"}}, "", false).empty());
}

TEST_CASE("a task that leaves types of tokens out says nothing of them to a run that goes on") {
  Case run({"--task", "mlm", "--max_seq_length", "32"});
  run.model.architecture =
      architectures::Architecture::from_scratch("bert", "", architectures::Head::kMaskedLm);
  run.model.special_tokens = SpecialTokens{.bos = 1, .eos = 1, .pad = 2, .mask = 3};
  run.model.tokenizer_names_types = true;
  run.data.train->columns = {"input_ids", "labels"};
  ResolveInput input = run.input();
  input.saved = SavedRun{.token_types = false};
  const RunPlan plan = resolve(input);
  CHECK_FALSE(plan.data.padding.columns.empty());
  for (const Diagnostic& note : plan_notes(input, plan))
    CHECK_FALSE(contains(note.render(), "types of tokens"));
}

TEST_CASE("types of tokens of a run that goes on are compared before its data say which labels they have") {
  const auto told = [](bool names) {
    Case run({"--task", "text-classification", "--max_seq_length", "32"});
    run.model.architecture =
        architectures::Architecture::from_scratch("bert", "", architectures::Head::kSequenceClassification);
    run.model.special_tokens = SpecialTokens{.bos = 1, .eos = 1, .pad = 2};
    run.model.tokenizer_names_types = names;
    run.data.train->columns = {"input_ids", "token_type_ids", "labels"};
    run.data.of_task = {{"kind", "classes"}, {"names", {"cat", "dog"}}};
    ResolveInput input = run.input();
    input.saved = SavedRun{.token_types = true};
    const RunPlan plan = resolve(input);
    input.data = {};
    std::string text;
    for (const Diagnostic& note : plan_notes(input, plan)) text += note.render();
    return contains(text, "with types of tokens, as its checkpoint was trained");
  };
  CHECK_FALSE(told(true));
  CHECK(told(false));
}

TEST_CASE(
    "a run goes on with another schedule where both are functions of the step, and is refused otherwise") {
  const auto outcome = [](const std::string& now, const std::string& before, const char* program = nullptr) {
    Case run({"--lr_scheduler_type", now, "--warmup_steps", "2", "--eval_strategy", "steps", "--eval_steps",
              "10", "--validation_file", "v.txt"});
    if (program != nullptr) run.parsed.arguments.launch.worker_program = program;
    ResolveInput input = run.input();
    input.saved = SavedRun{.schedule = before};
    std::string text;
    try {
      for (const Diagnostic& note : plan_notes(input, resolve(input))) text += note.render() + '\n';
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
      return error.render();
    }
    return text;
  };
  CHECK(contains(outcome("cosine", "linear"), "goes on with the schedule cosine instead of linear"));
  CHECK(contains(outcome("cosine", "own"), "goes on with the schedule cosine instead of own"));
  CHECK(contains(outcome("cosine", "own"), "try: the program that the checkpoint is from where"));
  CHECK_FALSE(contains(outcome("cosine", "own"), "--lr_scheduler_type own"));
  for (const char* same : {"cosine", "greedy", "WarmupLR"})
    CHECK_FALSE(contains(outcome(same, same), "schedule is"));
  CHECK_FALSE(contains(outcome("greedy", ""), "schedule is"));  // nobody knows
  CHECK_FALSE(contains(outcome("linear", "linear"), "goes on with the schedule"));
  for (const char* other : {"reduce_lr_on_plateau", "greedy", "WarmupLR"}) {
    const std::string refused =
        "the saved schedule is \"" + std::string(other) + "\", this run's is \"linear\"";
    CHECK(contains(outcome("linear", other), refused));
    CHECK(contains(outcome("linear", other), "--lr_scheduler_type " + std::string(other)));
    CHECK(contains(outcome(other, "linear"), std::string(other) + " remembers other things"));
    CHECK_FALSE(contains(outcome("linear", other, "/bin/own"), refused));  // whose schedule may be its own
  }
  CHECK(contains(outcome("WarmupLR", "own"), "the program that the checkpoint is from"));
}

}  // namespace
}  // namespace hftrain::plan
