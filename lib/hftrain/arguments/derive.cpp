#include "hftrain/arguments/derive.h"

#include <algorithm>

#include "hftrain/arguments/compat.h"
#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/glue_names.h"
#include "hftrain/arguments/task_words.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/log_level.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

using Severity = Diagnostic::Severity;

constexpr int64_t kFirstWithoutName = 50000;  // release in which a run that has no name stays without

constexpr const char* kOutputFolderNote = "the output folder is trainer_output";

// "--do_train false" on the command line, where an evaluation strategy asks for something else; files repeat that default.
bool refuses_training(const ParseOutcome& outcome) {
  return !outcome.arguments.run.do_train && outcome.origins.is_chosen("do_train");
}

class Derivation {
 public:
  Derivation(const Environment& environment, ParseOutcome& outcome)
      : environment_(environment), outcome_(outcome), arguments_(outcome.arguments) {}

  void run() {
    output();
    name();
    folders_of_images();
    folder_of_pairs();
    data_of_glue();
    words_of_task();
    evaluation();
    best_model();
    logging();
    resume();
    batch();
    model_init();
    precision();
    optimizer();
    if (arguments_.device.use_cpu && arguments_.data.dataloader_pin_memory) {
      arguments_.data.dataloader_pin_memory = false;
      from("dataloader_pin_memory", "use_cpu");
    }
  }

 private:
  void output() {
    if (arguments_.output.output_dir && !arguments_.output.output_dir->empty()) return;
    arguments_.output.output_dir = "trainer_output";
    note(kOutputFolderNote, "--output_dir was not given");
  }

  // Rule 16.
  void name() {
    if (arguments_.logging.run_name || asked_release(arguments_) >= kFirstWithoutName) return;
    arguments_.logging.run_name = arguments_.output.output_dir;
    from("run_name", "output_dir");
  }

  // Names of others for a rule that has one.
  void optimizer() {
    std::string& optim = arguments_.optimizer.optim;
    if (optim == "lion") optim = "lion_32bit";
    if (optim == "adamw_apex_fused") optim = "adamw_torch_fused";
  }

  void model_init() {
    const std::optional<ModelInitOptions>& given = arguments_.instructions.model_init_kwargs;
    if (!given) return;
    if (given->dtype && !outcome_.origins.is_given("dtype")) {
      arguments_.model.dtype = given->dtype;
      from("dtype", "model_init_kwargs");
    }
    if (given->revision && !outcome_.origins.is_given("model_revision")) {
      arguments_.model.model_revision = *given->revision;
      from("model_revision", "model_init_kwargs");
    }
  }

  // They are what the task reads in the place of files.
  void folders_of_images() {
    DataArguments& data = arguments_.data;
    if (data.train_dir && data.train_file.empty()) {
      data.train_file = {*data.train_dir};
      from("train_file", "train_dir");
    }
    if (data.validation_dir && data.validation_file.empty()) {
      data.validation_file = {*data.validation_dir};
      from("validation_file", "validation_dir");
    }
  }

  // summarization_xsum and translation_xx_to_yy of finetune_trainer.py. A plug-in may describe a task of the first kind of name.
  void words_of_task() {
    const std::string word = arguments_.run.task.value_or("");
    const std::string_view task = task_in(word);
    const auto languages = languages_of(word);
    if (task.empty() || (!languages && arguments_.interface.plugin)) return;
    arguments_.run.task = task;
    if (!languages || arguments_.data.data_dir) return;  // its files are what languages would name
    const auto take = [&](std::optional<std::string>& slot, const char* flag, const std::string& language) {
      if (slot) return;
      slot = language;
      from(flag, "task");
    };
    take(arguments_.data.source_lang, "source_lang", languages->first);
    take(arguments_.data.target_lang, "target_lang", languages->second);
  }

  void folder_of_pairs() {
    DataArguments& data = arguments_.data;
    if (!data.data_dir) return;
    const auto take = [&](std::vector<std::string>& files, const char* flag, const char* split) {
      if (!files.empty()) return;
      files = {*data.data_dir + '/' + split + ".source"};
      from(flag, "data_dir");
    };
    take(data.train_file, "train_file", "train");
    take(data.validation_file, "validation_file", "val");
    take(data.test_file, "test_file", "test");
  }

  // As run_glue: the name of a task is that of its data where nothing else names any. A smoke run makes up its rows.
  void data_of_glue() {
    constexpr const char* kGlue = "nyu-mll/glue";
    DataArguments& data = arguments_.data;
    const bool named = data.dataset_name || !data.train_file.empty() || !data.validation_file.empty() ||
                       !data.test_file.empty() || !data.validation_mismatched_file.empty() ||
                       !data.test_mismatched_file.empty();
    const std::string task = to_lower(data.task_name.value_or(""));
    const bool known = std::ranges::find(kGlueNames, task) != kGlueNames.end();
    if (arguments_.run.task != "text-classification" || task.empty() || named || arguments_.interface.smoke)
      return;
    data.dataset_name = kGlue;
    from("dataset_name", "task_name");
    if (data.dataset_config_name.value_or(task) != task)
      note("dataset_config_name " + *data.dataset_config_name + " has no effect",
           "task_name names the data, and run_glue does not read it beside", "leave it out");
    data.dataset_config_name = task;
    from("dataset_config_name", "task_name");
    if (!known) return;  // told by whoever reads it
    note("the data are " + *data.dataset_config_name + " of " + kGlue,
         "task_name names them where no other data are named, as in run_glue",
         "--train_file FILE… for data of your own");
  }

  void evaluation() {
    EvaluationArguments& evaluation = arguments_.evaluation;
    if (evaluation.eval_strategy != "no" && !arguments_.run.do_eval) {
      const bool alone = refuses_training(outcome_);
      arguments_.run.do_eval = true;
      if (alone)
        outcome_.origins.set("do_eval", outcome_.origins.of("do_train"));
      else
        from("do_eval", "eval_strategy");
      // Nobody asked for evaluation alone.
      if (!arguments_.run.do_train && !arguments_.run.do_predict && !alone) {
        arguments_.run.do_train = true;
        from("do_train", "eval_strategy");
      }
    }
    if (evaluation.eval_strategy == "steps" && evaluation.eval_steps.value_or(0) == 0 &&
        arguments_.logging.logging_steps > 0) {
      evaluation.eval_steps = arguments_.logging.logging_steps;
      from("eval_steps", "logging_steps");
      note("eval_steps is that of logging_steps, " + to_yaml(*evaluation.eval_steps),
           "eval_strategy is steps, and nothing else says how often", "--eval_steps N");
    }
  }

  void best_model() {
    SavingArguments& saving = arguments_.saving;
    if (saving.metric_for_best_model == "") saving.metric_for_best_model.reset();  // as if nobody had said it
    const std::string& schedule = arguments_.schedule.lr_scheduler_type;
    const bool best = saving.load_best_model_at_end.value_or(false);
    const bool watched = best || schedule == "reduce_lr_on_plateau" || schedule == "greedy";
    if (watched && !saving.metric_for_best_model) {
      saving.metric_for_best_model = "loss";
      from("metric_for_best_model", best ? "load_best_model_at_end" : "lr_scheduler_type");
    }
    if (saving.metric_for_best_model && !saving.greater_is_better) {
      const std::string& metric = *saving.metric_for_best_model;
      saving.greater_is_better = metric.size() < 4 || metric.substr(metric.size() - 4) != "loss";
      from("greater_is_better", "metric_for_best_model");
    }
  }

  void logging() {
    LoggingArguments& logging = arguments_.logging;
    if (!logging.disable_tqdm) {
      // Rule 4: by the level itself, which TRANSFORMERS_VERBOSITY says where log_level is passive.
      logging.disable_tqdm =
          wanted_log_level(logging.log_level, environment_, LogLevel::kInfo) > LogLevel::kWarning;
      from("disable_tqdm", "log_level");
    }
    if (std::find(logging.report_to.begin(), logging.report_to.end(), "all") == logging.report_to.end())
      return;
    logging.report_to.clear();
    for (const Choice& choice : flag_table().named("report_to").choices) {
      const bool tracker = choice.word != "none" && choice.word != "all";
      if (tracker && choice.support.status == Support::kImplemented)
        logging.report_to.emplace_back(choice.word);
    }
    if (!outcome_.origins.is_given("report_to"))
      note("every tracker is on: " + join(logging.report_to, ", "),
           "up to transformers 4.57 report_to is all where nobody says otherwise",
           "--report_to none, or the names of those that are wanted");
  }

  void resume() {
    std::optional<std::string>& resume = arguments_.saving.resume_from_checkpoint;
    if (!resume) return;
    const std::string word = to_lower(*resume);
    if (word == "true" || word == "yes") resume = "true";
    if (word == "false" || word == "no" || word.empty()) resume.reset();
  }

  void batch() {
    auto& config = arguments_.parallel.accelerator_config;
    if (!config || !config->accumulation_num_steps || arguments_.batch.gradient_accumulation_steps > 1)
      return;
    if (*config->accumulation_num_steps == 1) return;
    arguments_.batch.gradient_accumulation_steps = *config->accumulation_num_steps;
    // It was given there, and stands in one place from here on: two are a mistake (rule 36).
    outcome_.origins.set("gradient_accumulation_steps", outcome_.origins.of("accelerator_config"));
    config->accumulation_num_steps.reset();
    outcome_.mappings["accelerator_config"]["gradient_accumulation_kwargs"].erase("num_steps");
  }

  // torch_compile and its relatives switch TensorFloat-32 on upstream.
  void precision() {
    PrecisionArguments& precision = arguments_.precision;
    for (const char* flag : {"torch_compile", "torch_compile_backend", "torch_compile_mode"}) {
      const auto raw = outcome_.unread.find(flag);
      if (raw == outcome_.unread.end() || raw->second.is_null() || raw->second == false) continue;
      const bool by_hand = precision.tf32 && outcome_.origins.of("tf32").starts_with('-');
      if (by_hand || precision.tf32 == false || (precision.fp16 && !precision.bf16)) continue;
      precision.tf32 = true;
      from("tf32", flag);  // a file that says so too asks for no more
    }
  }

  void from(const std::string& flag, const std::string& other) {
    outcome_.origins.set_filled_in(flag, other);
  }

  void note(std::string what, std::string why, std::string hint = "") {
    outcome_.notes.push_back({.severity = Severity::kNote,
                              .what = std::move(what),
                              .where = "",
                              .why = std::move(why),
                              .hint = std::move(hint)});
  }

  const Environment& environment_;
  ParseOutcome& outcome_;
  Arguments& arguments_;
};

}  // namespace

bool is_about_output_folder(const Diagnostic& note) {
  return note.what == kOutputFolderNote;
}

void derive(const Environment& environment, ParseOutcome& outcome) {
  Derivation(environment, outcome).run();
}

bool wants_training(const ParseOutcome& outcome) {
  const RunArguments& run = outcome.arguments.run;
  // do_eval is also set by an evaluation strategy, which alone does not ask for "evaluation only".
  const bool evaluates_alone = run.do_eval && outcome.origins.is_given("do_eval");
  return run.do_train || (!evaluates_alone && !run.do_predict);
}

}  // namespace hftrain::arguments
