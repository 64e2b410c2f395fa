#include "launcher/front/smoke.h"

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <filesystem>
#include <ostream>

#include "hftrain/arguments/smoke_variable.h"
#include "hftrain/base/caught_error.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/base/json.h"
#include "hftrain/machine/detect_topology.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/plan/smoke_ranks.h"
#include "hftrain/plan/topology.h"
#include "hftrain/report/run_log.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "launcher/front/inputs.h"
#include "launcher/front/run_record.h"
#include "launcher/front/smoke_data.h"
#include "launcher/front/smoke_flags.h"
#include "launcher/front/smoke_sample.h"
#include "launcher/front/stop_flag.h"
#include "launcher/process/watched_process.h"

namespace hftrain::front {
namespace {

namespace fs = std::filesystem;

// What of the user's data is trained on and evaluated on, about.
constexpr uint64_t kMostTrainingBytes = 4'000'000, kMostEvaluationBytes = 200'000;
constexpr int kKillTries = 5;  // a run of a tiny model may be over before it can be hit
constexpr double kLater = 0.1;

const char* const kStraight = "straight";
const char* const kKilled = "killed";

// The folder that the standard library takes, and which variable names it.
fs::path temporary_folder(const Environment& environment) {
  std::string name = "TMPDIR";
  fs::path place = "/tmp";
  for (const char* other : {"TEMPDIR", "TEMP", "TMP", "TMPDIR"}) {
    const std::string named = environment.get_or(other, "");  // one that is empty names none
    if (!named.empty()) place = named, name = other;
  }
  std::error_code failed;
  if (fs::is_directory(place, failed)) return place;
  throw Error(ExitCode::kEnvironment, "there is no place for temporary files")
      .where("environment " + name)
      .why(place.string() + ": " + (failed ? failed.message() : "is no folder"))
      .hint("set TMPDIR to a folder that is there");
}

// Everything that a run may write or read, made in a folder of its own.
class Smoke {
 public:
  Smoke(const CommandContext& context, const std::vector<std::string>& words,
        const arguments::ParseOutcome& parsed)
      : context_(context), parsed_(parsed), setting_(smoke_setting(parsed, visible_gpus())) {
    std::string pattern = (temporary_folder(context.environment) / "hftrain-smoke-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw system_error(errno, "cannot create a temporary folder", pattern);
    folder_ = pattern;
    words_ = words;
  }

  // Of the run that is left alone.
  ExitCode plan(const PlanOf& plan_of) {
    say_what_differs();
    const FolderGone gone{folder_};
    prepare();
    CommandContext context = context_;
    context.environment = environment();
    return plan_of(context, command_line(kStraight));
  }

  // A stop signal ends what runs, and nothing is left of it.
  ExitCode run() {
    const StopFlag stop;
    stop_ = &stop.is_set();
    try {
      return run_checks();
    } catch (const Stopped&) {
      const FolderGone gone{folder_};
      context_.err << "the check was stopped; nothing is left of it\n";
      return ExitCode::kTerminatedUnsaved;
    }
  }

 private:
  struct Stopped {};

  ExitCode run_checks() {
    say_what_differs();
    const SmokeLength& length = setting_.length;
    const bool restarts = setting_.restarts > 0;
    const bool good =
        check("data, tokenizer and model", [this] { return prepare(); }) &&
        check("a run of " + std::to_string(length.steps) + " steps", [this] { return straight(); }) &&
        check(restarts ? "a killed rank is named, and the run starts again"
                       : "a killed rank ends the run and is named",
              [this] { return killed(); }) &&
        check(restarts ? "it goes on from a checkpoint" : "starting again resumes",
              [this] { return resumed(); }) &&
        check("the resumed run equals the straight one", [this] { return equal(); }) &&
        check("the checkpoint verifies", [this] { return verified(); });
    if (good) {
      std::error_code ignored;
      fs::remove_all(folder_, ignored);
      return ExitCode::kDone;
    }
    context_.err << "the files of this check are in " << folder_ << '\n';
    return code_;
  }

  struct FolderGone {
    const std::string& folder;
    ~FolderGone() {
      std::error_code ignored;
      fs::remove_all(folder, ignored);
    }
  };

  void say_what_differs() const {
    for (const std::string& notice : setting_.notices) context_.err << "note: " << notice << '\n';
  }

  int visible_gpus() const {
    Environment environment = context_.environment;
    for (const auto& [name, value] : parsed_.exported_environment) environment.set(name, value);
    return static_cast<int>(machine::detect_topology(environment).visible.devices.size());
  }

  // Empty: passed; otherwise why not.
  template <typename Check>
  bool check(const std::string& name, Check&& passes) {
    go_on();
    const double begin = monotonic_seconds();
    std::string problem;
    try {
      problem = passes();
    } catch (const Stopped&) {
      throw;
    } catch (...) {  // the file system's among them
      const Error error = error_of(std::current_exception());
      code_ = error.code();
      problem = error.render();
    }
    context_.out << (problem.empty() ? "ok      " : "FAILED  ") << name << " ("
                 << static_cast<int>((monotonic_seconds() - begin) * 10) / 10.0 << " s)" << std::endl;
    if (problem.empty()) return true;
    context_.err << problem << '\n';
    if (code_ == ExitCode::kDone) code_ = ExitCode::kInternal;
    return false;
  }

  // Adds what the flags leave open, and what a smoke run must decide itself.
  std::string prepare() {
    std::vector<std::string> flags = setting_.flags;
    const auto add = [&flags](const std::string& flag, const std::vector<std::string>& values) {
      if (values.empty()) return;
      flags.push_back(flag);
      flags.insert(flags.end(), values.begin(), values.end());
    };
    const arguments::DataArguments& data = parsed_.arguments.data;
    const auto cut = [&](const std::vector<std::string>& files, data::Split split, uint64_t most) {
      return cut_data(files, split, data.keep_linebreaks, most, folder_ + "/data");
    };
    const bool of_text = setting_.task == tasks::Task::kCausalLm || setting_.task == tasks::Task::kMaskedLm;
    if (setting_.makes_data) {
      const auto made = write_sample_data(setting_.task, parsed_.arguments, folder_);
      flags.insert(flags.end(), made.begin(), made.end());
    } else if (of_text) {
      add("--train_file", cut(data.train_file, data::Split::kTrain, kMostTrainingBytes));
    }
    if (of_text) {
      add("--validation_file", cut(data.validation_file, data::Split::kValidation, kMostEvaluationBytes));
      add("--test_file", cut(data.test_file, data::Split::kTest, kMostEvaluationBytes));
    }
    if (setting_.makes_tokenizer) add("--tokenizer_name", {write_sample_tokenizer(setting_.task, folder_)});
    if (setting_.makes_weights)
      add("--model_name_or_path", {write_sample_model(setting_.task, parsed_.arguments, folder_)});
    flags_ = std::move(flags);
    return "";
  }

  std::string output_of(const std::string& name) const { return folder_ + '/' + name; }

  std::vector<std::string> command_line(const std::string& name) const {
    std::vector<std::string> flags = flags_;
    const auto add = [&flags](const char* flag, const std::string& value) {
      flags.insert(flags.end(), {flag, value});
    };
    add("--output_dir", output_of(name));
    // Folders beside the output folder, which the configuration may have put among those of real runs.
    if (parsed_.arguments.launch.log_dir) add("--log_dir", output_of(name) + "-logs");
    if (parsed_.arguments.logging.logging_dir) add("--logging_dir", output_of(name) + "-tensorboard");
    return smoke_command_line(words_, flags);
  }
  Environment environment() const {
    Environment environment = context_.environment;
    environment.set("HFTRAIN_CACHE", folder_ + "/cache");
    environment.set(arguments::kSmokeVariable, "1");
    for (const TrackerPlace& place : tracker_places())
      environment.set(std::string(place.variable), folder_ + '/' + std::string(place.tracker));
    for (const auto& [variable, value] : setting_.environment) environment.set(variable, value);
    return environment;
  }

  launcher::WatchedProcess start(const std::string& name) const {
    std::vector<std::string> argv = {context_.program, "train"};
    for (std::string& word : command_line(name)) argv.push_back(std::move(word));
    return launcher::WatchedProcess(std::move(argv), environment());
  }
  // Its exit code.
  int end_of(launcher::WatchedProcess& run) const {
    run.wait_until([this] {
      go_on();
      return false;
    });
    return run.finish();
  }
  void go_on() const {
    if (*stop_) throw Stopped{};
  }
  std::string expect(ExitCode wanted, int got, const launcher::WatchedProcess& run) {
    if (got == static_cast<int>(wanted)) return "";
    code_ = got == 0 ? ExitCode::kInternal : static_cast<ExitCode>(got);
    return "it ended with code " + std::to_string(got) + ", expected " +
           std::to_string(static_cast<int>(wanted)) + ":\n" + run.err();
  }
  // What summary.json says of the attempts of a run, the last one last.
  Json attempts_of(const std::string& name) const {
    return read_json_file(run_folder(output_of(name)).summary()).at("attempts");
  }

  std::string straight() {
    launcher::WatchedProcess run = start(kStraight);
    if (std::string problem = expect(ExitCode::kDone, end_of(run), run); !problem.empty()) return problem;
    const std::string path = run_folder(output_of(kStraight)).plan();
    const plan::RunPlan plan = plan::run_plan_from_json(read_json_file(path), path);
    // Which only the plan knows: how many ranks and updates there are.
    for (const Diagnostic& note : plan::notes_of_smoke(parsed_, plan)) say(note.what + ": " + note.why);
    look_at_the_end(/*scales_loss=*/plan.precision.gradient_scaler);
    return "";
  }
  void say(const std::string& note) const { context_.err << "note: " << note << '\n'; }

  // The rest is compared with what came of this run, as far as there is a checkpoint to go on from.
  void look_at_the_end(bool scales_loss) {
    const report::RunLog log = report::read_log_lines(read_file(output_of(kStraight) + "/hftrain/log.jsonl"));
    updates_ = static_cast<int>(log.last_step);
    if (!scales_loss) look_at_gradients(updates_without_gradients(log));  // scaling finds its way by such
    look_at_length();
  }
  // A run that diverges saves nothing while it does, and this one may be too short to end as such.
  void look_at_gradients(int skipped) const {
    if (skipped == 0) return;
    const std::string which = "the gradients of its last " + std::to_string(skipped) + " of " +
                              std::to_string(updates_) + " updates are not finite";
    if (!storage::list_checkpoints(output_of(kStraight)).empty())
      return say(which + ": a run that goes on so diverges");
    throw Error(ExitCode::kDiverged, "the run diverges: " + which)
        .where("this check")
        .why("a loss or a gradient is NaN or infinite, and nothing is saved after such an update")
        .hint(
            "a lower --learning_rate, more --warmup_steps or a smaller --max_grad_norm; weights and data "
            "without NaN");
  }
  // A callback may end a run before its time.
  void look_at_length() const {
    const auto& [steps, first_save] = setting_.length;
    if (updates_ >= steps) return;
    const std::string early =
        "it ended by itself after " + std::to_string(updates_) + " of " + std::to_string(steps) + " updates";
    if (updates_ > first_save) return say(early + ", and that is what is compared");
    throw Error(ExitCode::kUsage, "the run ends before it can be gone on with")
        .where("this check")
        .why(early + ", and its first checkpoint would come after " + std::to_string(first_save))
        .hint("let what ends it (a callback of --plugin, say) wait longer in a check");
  }
  // Those at the end, in a row.
  static int updates_without_gradients(const report::RunLog& log) {
    const auto found = log.metrics.find("grad_norm");
    if (found == log.metrics.end()) return 0;
    const report::Series& norms = found->second;
    const auto last = std::find_if(norms.rbegin(), norms.rend(),
                                   [](const report::Point& norm) { return std::isfinite(norm.value); });
    return static_cast<int>(last - norms.rbegin());
  }

  bool has_checkpoint() const {
    return path_exists(storage::checkpoint_path(output_of(kKilled), setting_.length.first_save) +
                       "/manifest.json");
  }

  // What was logged reaches the file when the checkpoint is announced; the front program hears of it then.
  bool has_logged_it() const {
    const std::string path = output_of(kKilled) + "/hftrain/log.jsonl";
    if (!path_exists(path)) return false;
    return read_file(path).find("\"step\": " + std::to_string(setting_.length.first_save) + ',') !=
           std::string::npos;
  }

  std::string killed() {
    double delay =
        0;  // the front program has to hear of the checkpoint, too, if it is to go on from it itself
    for (int attempt = 1;; ++attempt) {
      launcher::WatchedProcess run = start(kKilled);
      double seen = 0;
      run.wait_until([&] {
        go_on();
        if (seen == 0 && has_checkpoint() && has_logged_it()) seen = monotonic_seconds();
        return seen > 0 && monotonic_seconds() - seen >= delay;
      });
      const std::vector<pid_t> workers = run.children();
      if (!workers.empty()) ::kill(workers.back(), SIGKILL);
      const ExitCode wanted = setting_.restarts > 0 ? ExitCode::kDone : ExitCode::kWorkerLost;
      const int code = end_of(run);
      const bool too_late = code == 0 && attempts_of(kKilled).size() == 1;  // it was leaving
      const bool too_early = code == 0 && !too_late && attempts_of(kKilled).back()["resumed_from"].is_null();
      if ((too_late || too_early) && attempt < kKillTries) {
        delay = too_early ? delay + kLater : delay / 2;
        fs::remove_all(output_of(kKilled));
        continue;
      }
      if (too_late) return "the run was over before a rank could be killed";
      if (std::string problem = expect(wanted, code, run); !problem.empty()) return problem;
      return names_the_killed(run);
    }
  }
  std::string names_the_killed(const launcher::WatchedProcess& run) const {
    const Json first = attempts_of(kKilled).at(0);
    if (first.at("exit_code") != static_cast<int>(ExitCode::kWorkerLost))
      return "the attempt that lost a rank is on record with code " + first["exit_code"].dump();
    return first.value("what", "").find("SIGKILL") == std::string::npos
               ? "the report does not say what happened:\n" + run.err()
               : "";
  }

  // The workers count the updates that they made themselves: one that began anew would have made all.
  std::string resumed() {
    if (setting_.restarts == 0) {
      launcher::WatchedProcess run = start(kKilled);
      if (std::string problem = expect(ExitCode::kDone, end_of(run), run); !problem.empty()) return problem;
    }
    const Json last = attempts_of(kKilled).back();
    if (!last.at("resumed_from").is_string()) return "it began anew instead of going on from a checkpoint";
    const auto path = last["resumed_from"].get<std::string>();
    for (const storage::CheckpointInfo& checkpoint : storage::list_checkpoints(output_of(kKilled))) {
      if (fs::path(checkpoint.path).filename() != fs::path(path).filename()) continue;
      const int64_t left = updates_ - checkpoint.step;
      return last.at("steps") == left ? ""
                                      : "from " + path + " it made " + last["steps"].dump() +
                                            " updates, and " + std::to_string(left) + " were left";
    }
    // Removed since then, as --save_total_limit says.
    return last.at("steps").is_number() && last["steps"] < updates_
               ? ""
               : "after " + path + " it made " + last["steps"].dump() + " updates";
  }

  static std::vector<std::string> tensors_below(const std::string& folder) {
    std::vector<std::string> paths;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      const std::string path = fs::relative(entry.path(), folder).string();
      const bool hidden = path.starts_with('.');  // of a save that the killed rank broke off
      if (entry.path().extension() == ".safetensors" && !hidden) paths.push_back(path);
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  std::string equal() const {
    const std::string straight = output_of(kStraight), killed = output_of(kKilled);
    const std::vector<std::string> tensors = tensors_below(straight);
    if (tensors.empty()) return "the straight run left no tensors";
    if (tensors != tensors_below(killed)) return "they did not write the same files";
    for (const std::string& path : tensors) {
      go_on();
      if (hash_file(straight + '/' + path) != hash_file(killed + '/' + path)) return path + " differs";
    }
    return "";
  }

  // Of both runs, as they were found equal. Which are left is the flags' to say: a best one may be the only one.
  std::string verified() const {
    for (const char* name : {kStraight, kKilled}) {
      const std::vector<storage::CheckpointInfo> left = storage::list_checkpoints(output_of(name));
      if (left.empty()) return std::string("the ") + name + " run left no checkpoint";
      for (const storage::CheckpointInfo& checkpoint : left) {
        go_on();
        const storage::Verification verified = storage::verify_checkpoint(checkpoint.path);
        if (!verified.ok) return checkpoint.path + ": " + verified.file + ' ' + verified.reason;
      }
    }
    return "";
  }

  const CommandContext& context_;
  const arguments::ParseOutcome& parsed_;
  SmokeSetting setting_;
  std::vector<std::string> words_, flags_;
  std::string folder_;
  int updates_ = 0;  // of the straight run
  ExitCode code_ = ExitCode::kDone;
  const std::atomic<bool>* stop_ = nullptr;
};

// First, as the task may be the plug-in's.
void learn_from_plugin(const arguments::ParseOutcome& parsed) {
  if (const auto& plugin = parsed.arguments.interface.plugin) open_plugin(*plugin);
}

}  // namespace

ExitCode run_smoke(const CommandContext& context, const std::vector<std::string>& flags,
                   const arguments::ParseOutcome& parsed) {
  learn_from_plugin(parsed);
  return Smoke(context, flags, parsed).run();
}

ExitCode plan_smoke(const CommandContext& context, const std::vector<std::string>& flags,
                    const arguments::ParseOutcome& parsed, const PlanOf& plan_of) {
  learn_from_plugin(parsed);
  return Smoke(context, flags, parsed).plan(plan_of);
}

}  // namespace hftrain::front
