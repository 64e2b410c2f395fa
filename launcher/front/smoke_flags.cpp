#include "launcher/front/smoke_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "hftrain/arguments/command_line.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/resolve.h"
#include "hftrain/tasks/described_task.h"
#include "hftrain/tasks/task_table.h"
#include "launcher/front/smoke_sample.h"

namespace hftrain::front {
namespace {

constexpr SmokeLength kSmallModel = {60, 20}, kNamedModel = {6, 2};
constexpr SmokeLength kShortest = {6, 2}, kShortestOfNamedModel = {3, 1};
constexpr int64_t kMostAccumulated = 4;  // micro-batches of an update
constexpr int64_t kMostTrainingSamples = 2000, kMostEvaluationSamples = 200;
constexpr std::array<TrackerPlace, 3> kTrackerPlaces = {
    {{"wandb", "WANDB_DIR"}, {"trackio", "TRACKIO_DIR"}, {"mlflow", "MLFLOW_TRACKING_URI"}}};
constexpr int kRanksWithoutGpu = 2, kMostRanksWithoutGpu = 4;

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 6 && text.find_first_not_of("0123456789") == std::string::npos;
}

// As many micro-batches as without accumulation, and of a small model as many tokens as in rows of the usual length, as
// far as there are updates enough to kill a rank between.
SmokeLength length_of(bool named_model, int64_t accumulated, int64_t row_length) {
  const SmokeLength whole = named_model ? kNamedModel : kSmallModel;
  const SmokeLength shortest = named_model ? kShortestOfNamedModel : kShortest;
  const int64_t longer = named_model ? 1 : std::max<int64_t>(1, row_length / kUsualLength);
  const int64_t thirds = whole.first_save / (accumulated * longer);
  const int first_save = std::max(shortest.first_save, static_cast<int>(thirds));
  return {3 * first_save, first_save};
}

class Setting {
 public:
  Setting(const arguments::ParseOutcome& parsed, int gpus)
      : parsed_(parsed), arguments_(parsed.arguments), gpus_(gpus) {}

  SmokeSetting make() {
    name_what_is_missing();
    cut_accumulation();
    cut_samples();
    cut_length();
    cut_evaluation();
    stay_here();
    choose_ranks();
    make_resumable();
    keep_trackers_here();
    return std::move(setting_);
  }

 private:
  bool given(const char* flag) const { return !parsed_.origins.is_default(flag); }
  void set(const std::string& flag, const std::string& value) {
    setting_.flags.push_back("--" + flag);
    setting_.flags.push_back(value);
  }
  // For what is not as the configuration says.
  void replace(const char* flag, const std::string& value, const std::string& why) {
    setting_.notices.push_back(parsed_.origins.describe(flag) + " is " + value + " here: " + why);
    set(flag, value);
  }
  // Told of only where the configuration says otherwise.
  void fix(const char* flag, const std::string& value, bool differs, const std::string& why) {
    if (differs) return replace(flag, value, why);
    set(flag, value);
  }

  void name_what_is_missing() {
    const arguments::ModelArguments& model = arguments_.model;
    setting_.named_model = model.model_name_or_path || model.config_name || model.model_type;
    setting_.makes_data = arguments_.data.train_file.empty() && !arguments_.data.dataset_name;
    setting_.task = plan::task_row(parsed_).task;
    refuse_rows_of_others();
    const bool reads_text = setting_.task != tasks::Task::kImageClassification;
    setting_.makes_tokenizer = reads_text && !model.tokenizer_name && !model.model_name_or_path;
    setting_.restarts = static_cast<int>(arguments_.launch.max_restarts);
    if (setting_.named_model) return;
    setting_.makes_weights = arguments_.adapter.use_peft;
    if (!setting_.makes_weights) add(sample_model_flags(setting_.task, arguments_));
    add(sample_length_flags(setting_.task, arguments_));
  }
  void add(const std::vector<std::string>& words) {
    setting_.flags.insert(setting_.flags.end(), words.begin(), words.end());
  }

  void refuse_rows_of_others() const {
    if (!setting_.makes_data || tasks::description_of(setting_.task) == nullptr) return;
    throw Error(ExitCode::kUsage, "a smoke run makes up no rows for the task of a plug-in")
        .where("--smoke")
        .why("what rows of --task " + *arguments_.run.task + " look like its plug-in alone knows")
        .hint("--train_file FILE, with some rows of it");
  }

  // Of accumulation that stands in another place, too, one number would contradict the other: those runs have fewer
  // updates only.
  void cut_accumulation() {
    const arguments::ParallelArguments& parallel = arguments_.parallel;
    const bool stands_elsewhere =
        parallel.deepspeed || parallel.sharding.strategy || parallel.accelerator_config;
    int64_t accumulated = arguments_.batch.gradient_accumulation_steps;
    if (accumulated > kMostAccumulated && !stands_elsewhere) {
      accumulated = kMostAccumulated;
      replace("gradient_accumulation_steps", std::to_string(accumulated), "the check is to be short");
    }
    setting_.length = length_of(setting_.named_model, accumulated, asked_length(arguments_));
  }

  // Rows of text are cut to some megabytes when they are copied, and few are made; of others there is a number.
  void cut_samples() {
    const bool of_text = setting_.task == tasks::Task::kCausalLm || setting_.task == tasks::Task::kMaskedLm;
    const bool copied = of_text && !arguments_.data.dataset_name;
    const auto most = [&](const char* flag, const std::optional<int64_t>& asked, int64_t samples) {
      if (!asked || *asked > samples) set(flag, std::to_string(samples));
    };
    if (setting_.makes_data && arguments_.run.do_predict)
      most("max_predict_samples", arguments_.data.max_predict_samples, kMostEvaluationSamples);
    if (setting_.makes_data || copied) return;
    most("max_train_samples", arguments_.data.max_train_samples, kMostTrainingSamples);
    if (plan::wants_validation(parsed_))
      most("max_eval_samples", arguments_.data.max_eval_samples, kMostEvaluationSamples);
    if (arguments_.run.do_predict)
      most("max_predict_samples", arguments_.data.max_predict_samples, kMostEvaluationSamples);
  }

  void cut_length() {
    const std::string first = std::to_string(setting_.length.first_save);
    set("smoke", "false");
    fix("do_train", "true", given("do_train") && !arguments_.run.do_train, "a check trains");
    set("max_steps", std::to_string(setting_.length.steps));
    set("save_strategy", "steps");
    set("save_steps", first);
    set("logging_strategy", "steps");  // log.jsonl tells where a resumed run began
    set("logging_steps", "1");
    set("logging_first_step", "false");
  }

  void cut_evaluation() {
    if (arguments_.evaluation.eval_strategy == "no") return;
    set("eval_strategy", "steps");
    set("eval_steps", std::to_string(setting_.length.first_save));
    fix("eval_delay", "0", arguments_.evaluation.eval_delay.value_or(0) > 0,
        "the check is shorter than that may be");
    if (arguments_.evaluation.eval_strategy == "epoch" || arguments_.saving.save_strategy == "epoch")
      setting_.notices.push_back("what happens at the end of an epoch happens after every " +
                                 std::to_string(setting_.length.first_save) + " updates here");
  }

  void stay_here() {
    set("nnodes", "1");
    set("node_rank", "0");
    if (given("hostfile")) {
      setting_.environment["HFTRAIN_HOSTED"] = "1";
      setting_.notices.emplace_back("the host file is not used: this is a check of this machine");
    } else {
      set("standalone", "true");
    }
    if (parsed_.origins.is_given("nnodes") && arguments_.launch.nnodes != "1")
      setting_.notices.push_back(parsed_.origins.describe("nnodes") +
                                 " is 1 here: this is a check of this machine");
    set("overwrite_output_dir", "false");
    if (arguments_.hub.push_to_hub) replace("push_to_hub", "false", "nothing of a check is to be shown");
  }

  // Ranks of this machine, two where there is no GPU and nobody asked for others here.
  void choose_ranks() {
    const std::string asked = arguments_.launch.nproc_per_node.value_or("");
    const bool on_gpus = gpus_ > 0 && !arguments_.device.use_cpu;
    if (on_gpus) {
      if (is_number(asked) && std::stoi(asked) > gpus_)
        replace("nproc_per_node", std::to_string(gpus_), "this machine has as many GPUs");
      return;
    }
    if (asked.empty() && arguments_.launch.cpu_ranks)
      return keep_few("cpu_ranks", std::to_string(*arguments_.launch.cpu_ranks));
    if (!asked.empty()) return keep_few("nproc_per_node", asked);
    set("nproc_per_node", std::to_string(kRanksWithoutGpu));
  }

  // Who asks on the command line knows what this machine bears; a file may be of another one.
  void keep_few(const char* flag, const std::string& asked) {
    const bool by_hand = parsed_.origins.of(flag).starts_with('-');
    const bool few = is_number(asked) && std::stoi(asked) <= kMostRanksWithoutGpu;
    if (by_hand || few) return set(flag, asked);
    replace(flag, std::to_string(kRanksWithoutGpu), "this machine has no GPU to use");
  }

  // Whatever takes the state from a checkpoint, or from the way to it, would make the two runs differ.
  void make_resumable() {
    if (arguments_.saving.save_only_model)
      replace("save_only_model", "false", "a run is resumed, which needs the whole state");
    if (arguments_.data.ignore_data_skip)
      replace("ignore_data_skip", "false", "the resumed run is to see the same data");
    if (given("resume_from_checkpoint"))
      replace("resume_from_checkpoint", "auto", "the run of this check is its own");
    if (arguments_.saving.early_stopping_patience)
      replace("early_stopping_patience", "1000000", "the run is short, and is to reach its end");
  }

  // What `env:` of a file sets goes before what the check sets.
  bool is_placed_by_a_file(const std::string& tracker) const {
    return std::ranges::any_of(kTrackerPlaces, [&](const TrackerPlace& place) {
      return place.tracker == tracker && parsed_.exported_environment.contains(std::string(place.variable));
    });
  }
  void keep_trackers_here() {
    std::vector<std::string> kept = arguments_.logging.report_to;
    if (std::erase_if(kept, [&](const std::string& each) { return is_placed_by_a_file(each); }) == 0) return;
    if (kept.empty()) kept = {"none"};
    setting_.notices.push_back(parsed_.origins.describe("report_to") + " is " + join(kept, " ") +
                               " here: env says where the others keep their runs, and a check is none");
    setting_.flags.emplace_back("--report_to");
    add(kept);
  }

  const arguments::ParseOutcome& parsed_;
  const arguments::Arguments& arguments_;
  int gpus_;
  SmokeSetting setting_;
};

}  // namespace

std::span<const TrackerPlace> tracker_places() {
  return kTrackerPlaces;
}

SmokeSetting smoke_setting(const arguments::ParseOutcome& parsed, int gpus) {
  return Setting(parsed, gpus).make();
}

std::vector<std::string> smoke_command_line(const std::vector<std::string>& words,
                                            const std::vector<std::string>& flags) {
  std::vector<std::string_view> names;
  for (const std::string& word : flags) {
    if (word.starts_with("--")) names.push_back(std::string_view(word).substr(2));
  }
  std::vector<std::string> line = arguments::leave_out(words, names);
  line.insert(line.end(), flags.begin(), flags.end());
  return line;
}

}  // namespace hftrain::front
