#include "launcher/front/trial_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json_member.h"
#include "hftrain/base/regular_file.h"
#include "hftrain/base/text.h"
#include "hftrain/reporting/search_trial.h"
#include "hftrain/search/successive_halving.h"
#include "launcher/front/trial_flags.h"

namespace hftrain::front {
namespace {

constexpr int kBetweenLooks = 500;  // milliseconds

// What a child must not take for its own: the search's place in a job, and the descriptors of one.
const char* const kOwnVariables[] = {"RANK",         "LOCAL_RANK",   "WORLD_SIZE", "LOCAL_WORLD_SIZE",
                                     "WANDB_RUN_ID", "MLFLOW_RUN_ID"};

FileDescriptor open_log(const std::string& path) {
  has_regular_file(path, "the search");  // a pipe would wait for its reader
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file) throw system_error(errno, "cannot open the log of a trial", path, ExitCode::kDisk);
  return file;
}

// Of a log that has `names`: those that a search may go by, unless nothing was evaluated.
Error no_such_metric(const std::string& metric, const std::string& log, const std::set<std::string>& names) {
  std::vector<std::string> known;
  std::copy_if(names.begin(), names.end(), std::back_inserter(known),
               [](const std::string& name) { return name.starts_with("eval_"); });
  const bool evaluated = !known.empty();
  if (!evaluated) known.assign(names.begin(), names.end());
  const std::string nearest = did_you_mean(nearest_names(metric, known));
  return Error(ExitCode::kUsage, "there is no metric '" + metric + "' in the log of a trial")
      .where(log)
      .why((evaluated ? "its evaluations gave " : "nothing was evaluated; it has ") + join(known, ", "))
      .hint(!evaluated
                ? "--eval_strategy steps or epoch, or --do_train and --do_eval; then another --output_dir"
            : nearest.empty() ? "one of these as metric in the file of --search, and another --output_dir"
                              : nearest + " It is metric in the file of --search; take another --output_dir");
}

Error flags_have_changed(const std::string& different, const std::string& path) {
  return Error(ExitCode::kUsage, "the flags of this search have changed while it ran")
      .where(path)
      .why(different)
      .hint(
          "the flags as they were, in the file of --config too, go on with it; others need another "
          "--output_dir");
}

// One that ended well has failed by its metric: there is none of that name, or its values are no numbers.
int code_of_failure(const launcher::ExitStatus& status, const report::LogFollower& log) {
  if (status.signal != 0) return static_cast<int>(ExitCode::kWorkerLost);
  if (status.code != 0) return status.code;
  return static_cast<int>(log.has_metric() ? ExitCode::kDiverged : ExitCode::kUsage);
}

std::optional<std::filesystem::file_time_type> time_of(const std::string& path) {
  std::error_code missing;
  const auto time = std::filesystem::last_write_time(path, missing);
  return missing ? std::nullopt : std::optional(time);
}

// Nothing where another version, or nobody, has written it.
std::optional<int> planned_ranks(const std::string& path) {
  const Json size = json_member(json_member(read_json_file(path), "ranks"), "world_size");
  return size.is_number_integer() ? std::optional(size.get<int>()) : std::nullopt;
}

bool has_saved(const launcher::ExitStatus& status) {
  return status.signal == 0 && (status.code == static_cast<int>(ExitCode::kTerminated) ||
                                status.code == static_cast<int>(ExitCode::kInterrupted));
}

// Numbers change no metric's name; another word may decide which there are (predict_with_generate).
bool decides_names(const search::Parameter& parameter) {
  return std::ranges::any_of(parameter.choices, [](const Json& choice) { return !choice.is_number(); });
}

}  // namespace

TrialRunner::TrialRunner(const CommandContext& context, std::vector<std::string> flags,
                         std::vector<std::string> gpus, std::function<Json()> flags_now, search::Study& study,
                         reporting::Console& console)
    : context_(context),
      flags_(std::move(flags)),
      study_(study),
      lines_(console),
      interrupted_(study.interrupted()),
      flags_now_(std::move(flags_now)),
      ranks_vary_(draws_ranks(study.specification().space)) {
  const auto slots = static_cast<size_t>(study.specification().parallel);
  if (slots > 1 && gpus.size() >= slots) gpus_ = std::move(gpus);  // else each sees all of them
}

std::string TrialRunner::devices_of(size_t slot) const {
  const size_t share = gpus_.size() / static_cast<size_t>(study_.specification().parallel);
  const auto begin = gpus_.begin() + static_cast<std::ptrdiff_t>(slot * share);
  return join({begin, begin + static_cast<std::ptrdiff_t>(share)}, ",");
}

size_t TrialRunner::free_slot() const {
  size_t slot = 0;
  while (
      std::any_of(running_.begin(), running_.end(), [&](const Running& each) { return each.slot == slot; }))
    ++slot;
  return slot;
}

void TrialRunner::start(int number, bool again) {
  launcher::ChildSpec child;
  child.argv = {context_.program, "train"};
  child.argv.insert(child.argv.end(), flags_.begin(), flags_.end());
  const std::vector<std::string> own = words_of(trial(number));
  child.argv.insert(child.argv.end(), own.begin(), own.end());
  child.argv.push_back("--output_dir=" + trial(number).folder);
  child.environment = context_.environment;
  for (const char* name : kOwnVariables) child.environment.unset(name);
  reporting::tell_trial({.name = std::filesystem::path(trial(number).folder).filename().string(),
                         .parameters = trial(number).parameters},
                        child.environment);
  const size_t slot = free_slot();
  if (!gpus_.empty()) child.environment.set("CUDA_VISIBLE_DEVICES", devices_of(slot));
  Running running{.number = number,
                  .slot = slot,
                  .child = nullptr,
                  .log = open_log(trial(number).folder + ".log"),
                  .judged = search::judged_before(values_of(number, true).size()),
                  .old_plan = time_of(plan_of(number)),
                  .ranks_known = ranks_vary_};
  running.child = std::make_unique<launcher::ChildProcess>(child);
  running_.push_back(std::move(running));
  lines_.begins(trial(number), again, monotonic_seconds());
}

// A trial parses them anew: what changes between this look and its own is not seen.
bool TrialRunner::flags_are_the_same() {
  try {
    const std::string different = study_.differences(flags_now_());
    if (different.empty()) return true;
    refusal_ = flags_have_changed(different, study_.path());
  } catch (const Error& unreadable) {
    refusal_ = unreadable;
  }
  if (!running_.empty())
    lines_.says(
        "the flags of the search have changed: no further trial begins, those that run come to their end",
        monotonic_seconds());
  return false;
}

bool TrialRunner::start_next() {
  if (interrupted_.empty() && study_.all_begun()) return false;
  if (refusal_ || !flags_are_the_same()) return false;
  if (!interrupted_.empty()) {
    const int number = interrupted_.front();
    interrupted_.erase(interrupted_.begin());
    start(number, true);
    return true;
  }
  const std::optional<int> number = study_.begin();
  if (number) start(*number, false);
  return number.has_value();
}

// A disk that is full costs the log its rest, and the trial nothing.
void TrialRunner::drain(Running& trial) {
  for (FileDescriptor* stream : {&trial.child->standard_output(), &trial.child->standard_error()}) {
    char buffer[16 << 10];
    ssize_t count = 0;
    while (*stream && (count = ::read(stream->get(), buffer, sizeof(buffer))) > 0) {
      if (trial.log && ::write(trial.log.get(), buffer, static_cast<size_t>(count)) < 0) trial.log.reset();
    }
    if (*stream && count == 0) stream->reset();
  }
}

// What the log of a trial that ended well does not name, the next trials would not log either.
void TrialRunner::check_metric(int number) const {
  const search::Specification& asked = study_.specification();
  if (std::ranges::any_of(asked.space, decides_names)) return;
  const report::LogFollower& log = logs_.at(number);
  const auto has = [](const search::Trial& each) { return each.metric.has_value(); };
  const bool seen = std::any_of(study_.trials().begin(), study_.trials().end(), has);
  if (!seen && !log.has_metric()) throw no_such_metric(asked.metric, log_of(number), log.names());
}

// The metric as its trial has logged it; of a trial that `grows` what is new is read.
const std::vector<double>& TrialRunner::values_of(int number, bool grows) {
  const auto [log, is_new] = logs_.try_emplace(number, log_of(number), study_.specification().metric);
  return log->second.read(is_new || grows);
}

// It stays as it is, to be gone on with.
void TrialRunner::leave_running(int number, const launcher::ExitStatus& status) {
  if (has_saved(status)) return;
  unsaved_ = true;
  lines_.says("trial " + std::to_string(number) + ": it was stopped before it had saved",
              monotonic_seconds());
}

void TrialRunner::record_end(const Running& running, const launcher::ExitStatus& status) {
  const std::vector<double>& values = values_of(running.number, true);
  const std::optional<double> metric = values.empty() ? std::nullopt : std::optional(values.back());
  const bool well = status.signal == 0 && status.code == 0;
  // By the end of its time, say, which is the end of the others', too.
  if (has_saved(status) && !running.pruned && stops_ == 0) stop_all(SIGTERM);
  const bool stopped = !well && stops_ > 0 && !running.pruned;
  if (stopped) return leave_running(running.number, status);
  study_.end(running.number,
             well             ? search::TrialState::kComplete
             : running.pruned ? search::TrialState::kPruned
                              : search::TrialState::kFailed,
             metric, code_of_failure(status, logs_.at(running.number)));
  lines_.ends(study_, trial(running.number), well, monotonic_seconds());
  if (well) check_metric(running.number);
}

void TrialRunner::collect() {
  for (auto each = running_.begin(); each != running_.end();) {
    drain(*each);
    const std::optional<launcher::ExitStatus> status = each->child->reap();
    if (!status) {
      ++each;
      continue;
    }
    drain(*each);
    const Running ended = std::move(*each);
    each = running_.erase(each);
    record_end(ended, *status);
  }
}

void TrialRunner::prune() {
  if (study_.specification().method != search::Method::kAsha || stops_ > 0) return;
  std::vector<std::vector<double>> metrics;
  for (const search::Trial& each : study_.trials())
    metrics.push_back(values_of(each.number, each.state == search::TrialState::kRunning));
  for (Running& each : running_) {
    const auto own = static_cast<size_t>(each.number);
    if (each.pruned) continue;
    each.pruned = search::is_behind(metrics, own, each.judged, study_.specification().greater_is_better);
    each.judged = metrics[own].size();
    if (each.pruned) each.child->send(SIGTERM);
  }
}

// A trial of another size is killed before it has saved, so that what it had saved before stays as it was.
void TrialRunner::check_ranks() {
  for (Running& each : running_) {
    const auto written = each.ranks_known ? std::nullopt : time_of(plan_of(each.number));
    if (!written || written == each.old_plan) continue;
    each.ranks_known = true;
    const std::optional<int> ranks = planned_ranks(plan_of(each.number));
    try {
      if (ranks) study_.require_world_size(each.number, *ranks);
    } catch (const Error&) {
      each.child->send(SIGKILL);
      throw;
    }
  }
}

void TrialRunner::handle_signals() {
  for (int signal = signals_.next(); signal != 0; signal = signals_.next()) stop_all(signal);
}

void TrialRunner::stop_all(int signal) {
  ++stops_;
  last_signal_ = signal;
  for (const Running& each : running_) each.child->send(SIGTERM);
  if (stops_ > 1) return;
  lines_.says("stopping: the trials that run save and leave; the same command goes on with them",
              monotonic_seconds());
}

void TrialRunner::wait_for_something() {
  std::vector<const search::Trial*> awaited;
  for (const Running& each : running_) awaited.push_back(&trial(each.number));
  lines_.waits_for(awaited, monotonic_seconds());
  std::vector<pollfd> watched = {{signals_.descriptor(), POLLIN, 0}};
  for (Running& each : running_) {
    watched.push_back({each.child->exit_descriptor(), POLLIN, 0});
    if (each.child->standard_output()) watched.push_back({each.child->standard_output().get(), POLLIN, 0});
    if (each.child->standard_error()) watched.push_back({each.child->standard_error().get(), POLLIN, 0});
  }
  ::poll(watched.data(), watched.size(), kBetweenLooks);
  handle_signals();
}

ExitCode TrialRunner::run_trials() {
  const auto slots = static_cast<size_t>(study_.specification().parallel);
  for (;;) {
    while (stops_ == 0 && running_.size() < slots && start_next()) {
    }
    if (running_.empty()) break;
    wait_for_something();
    check_ranks();
    collect();
    prune();
  }
  if (stops_ == 0 && refusal_) throw Error(*refusal_);
  if (stops_ == 0) return ExitCode::kDone;
  if (unsaved_) return ExitCode::kTerminatedUnsaved;
  return last_signal_ == SIGINT ? ExitCode::kInterrupted : ExitCode::kTerminated;
}

// Nothing is put on record any more: what search.json says is running is gone on with.
void TrialRunner::let_all_save() {
  if (running_.empty()) return;
  stop_all(SIGTERM);
  while (!running_.empty()) {
    wait_for_something();
    std::erase_if(running_, [this](Running& each) {
      drain(each);
      if (!each.child->reap()) return false;
      drain(each);
      return true;
    });
  }
}

ExitCode TrialRunner::run() {
  try {
    return run_trials();
  } catch (...) {
    let_all_save();
    throw;
  }
}

}  // namespace hftrain::front
