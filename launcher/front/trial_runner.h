// Runs the trials of a search as child runs of this program, several at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/report/log_follower.h"
#include "hftrain/search/study.h"
#include "launcher/front/command_context.h"
#include "launcher/front/trial_lines.h"
#include "launcher/process/child_process.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::front {

class TrialRunner {
 public:
  // `flags`: of every trial, as the user typed them. `gpus`: what CUDA_VISIBLE_DEVICES may name; trials that run at a time
  // share them out, or see all of them where there are too few. `console`: where the search says how its trials go. `flags_now`: common_flags() of what a trial would read now, since a
  // file of --config may be edited while the search runs. References must outlive the object.
  TrialRunner(const CommandContext& context, std::vector<std::string> flags, std::vector<std::string> gpus,
              std::function<Json()> flags_now, search::Study& study, reporting::Console& console);

  // Goes on with interrupted trials, then begins new ones, until all are over: kDone. After a stop signal trials save and leave,
  // and stay to be gone on with: kInterrupted or kTerminated, or kTerminatedUnsaved where one of them had not saved; after a second
  // one they end at once. Where the common flags are no longer those on record no further trial begins, those that run come to
  // their end, and then: Error(kUsage), or the Error of reading them. A trial that fails does not end the search; one that ends
  // well without having logged such a metric does, unless another one has or the space holds words, which may decide what is
  // measured: Error(kUsage). Where the search itself cannot go on (its disk is full, say), trials save and leave before the Error
  // goes on its way. This thread has to outlive it: children end with it, however it ends.
  ExitCode run();

 private:
  struct Running {
    int number = 0;
    size_t slot = 0;
    std::unique_ptr<launcher::ChildProcess> child;
    FileDescriptor log;  // trial-N.log
    bool pruned = false;
    size_t judged = 0;  // as many evaluations were there when asha last looked
    // When its plan.json of an earlier start was written. Unset without one.
    std::optional<std::filesystem::file_time_type> old_plan;
    bool ranks_known = false;
  };

  void start(int number, bool again);
  bool start_next();
  // False, and the reason in refusal_, where a trial that begins now would have other flags.
  bool flags_are_the_same();
  void drain(Running& trial);
  ExitCode run_trials();
  void wait_for_something();
  // Takes those off the list that are over, and puts their ends on record.
  void collect();
  void let_all_save();
  void leave_running(int number, const launcher::ExitStatus& status);
  void record_end(const Running& trial, const launcher::ExitStatus& status);
  void prune();
  // Of trials that have begun since: is the number of ranks that of the search?
  void check_ranks();
  void handle_signals();
  void stop_all(int signal);
  size_t free_slot() const;
  std::string devices_of(size_t slot) const;
  const std::vector<double>& values_of(int number, bool grows);
  void check_metric(int number) const;
  std::string plan_of(int number) const { return trial(number).folder + "/hftrain/plan.json"; }
  std::string log_of(int number) const { return trial(number).folder + "/hftrain/log.jsonl"; }
  const search::Trial& trial(int number) const { return study_.trials()[static_cast<size_t>(number)]; }

  const CommandContext& context_;
  std::vector<std::string> flags_;
  search::Study& study_;
  TrialLines lines_;
  std::vector<std::string> gpus_;  // where every slot has its share; else empty
  std::vector<int> interrupted_;
  std::function<Json()> flags_now_;
  std::optional<Error> refusal_;  // why no further trial begins
  std::vector<Running> running_;
  std::map<int, report::LogFollower> logs_;  // by trial
  launcher::StopSignals signals_;
  int stops_ = 0, last_signal_ = 0;
  bool ranks_vary_;       // by what the space draws
  bool unsaved_ = false;  // a trial was stopped before it had saved
};

}  // namespace hftrain::front
