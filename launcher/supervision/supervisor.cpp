#include "launcher/supervision/supervisor.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hftrain/base/caught_error.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"
#include "launcher/process/memory_events.h"

namespace hftrain::launcher {
namespace {

constexpr double kLookSeconds = 1;  // at the clock, for OwnPauses

std::string rank_list(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back(std::to_string(rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ");
}

// Of a signal that a rank got, which tells of its sender's number on its machine; 0 where it has none there.
std::string sender_of(int signal, const Json& process, bool several_machines) {
  if (process != 0) return "process " + process.dump() + (several_machines ? " of its machine" : "");
  return signal == SIGXCPU ? "the kernel, at the limit on processor time (ulimit -t)"
                           : "outside of its container";
}

std::optional<double> on_own_clock(std::optional<double> unix_time) {
  if (!unix_time) return std::nullopt;
  return monotonic_seconds() + *unix_time - unix_seconds();
}

}  // namespace

Supervisor::Supervisor(JobSpec spec, WorkerObserver& observer)
    : spec_(std::move(spec)),
      observer_(observer),
      own_workers_(spec_.workers, spec_.rendezvous.listener.get()),
      joint_(spec_.hub == nullptr
                 ? nullptr
                 : std::make_unique<JobWorkerSet>(own_workers_, *spec_.hub, spec_.others.value())),
      group_(joint_ ? static_cast<WorkerSet&>(*joint_) : own_workers_),
      stop_budget_(monotonic_seconds(), on_own_clock(spec_.limits.end_time), spec_.trains),
      pauses_(monotonic_seconds()) {}

JobResult Supervisor::run() {
  router_ = std::make_unique<OutputRouter>(
      spec_.output, ranks_of(spec_.workers), [this](const OutputLine& line) { observer_.on_output(line); },
      [this](const std::string& notice) { observer_.on_notice(notice); });
  signals_ = std::make_unique<StopSignals>(spec_.stop_signals);
  memory_kills_at_start_ = memory_kills();
  group_.start();
  spec_.rendezvous.listener.reset();  // rank 0 holds it now: when it dies, connections fail at once
  phase_since_ = monotonic_seconds();
  pauses_.take(phase_since_);  // to start many takes its time
  hang_watch_.emplace(spec_.limits.hang, phase_since_);
  next_notice_ = phase_since_ + spec_.limits.patience_seconds;
  while (phase_ != Phase::kOver) wait_and_read();
  return result();
}

void Supervisor::wait_and_read() {
  std::vector<pollfd> watched = {{signals_->descriptor(), POLLIN, 0}};
  group_.append_descriptors(watched);
  ::poll(watched.data(), watched.size(), poll_timeout_milliseconds());
  pass_over_own_pause();
  handle_workers(watched);
  // After the workers: one that has just died must not be taken for one that a signal ended.
  handle_signals();
  handle_deadlines();
}

void Supervisor::pass_over_own_pause() {
  const double seconds = pauses_.take(monotonic_seconds());
  if (seconds == 0) return;
  hang_watch_->skip(seconds);
  stop_budget_.skip(seconds);
}

void Supervisor::handle_workers(const std::vector<pollfd>& watched) {
  const bool waited_out = hang_watch_->waited_out(monotonic_seconds());
  const WorkerGroup::Changes changes = group_.read_ready(watched, *router_);
  for (const plan::WorkerEvent& event : changes.events) {
    hang_watch_->heard(event, monotonic_seconds());
    stop_budget_.heard(event, monotonic_seconds());
    if (event.kind == plan::WorkerEvent::Kind::kCheckpoint && job_.stop_signal != 0)
      job_.saved_after_stop = true;
    observer_.on_event(event);
    if (event.kind == plan::WorkerEvent::Kind::kFinished) tell_who_asked(event);
  }
  for (const OutputLine& line : changes.lines) observer_.on_output(line);
  for (const std::string& notice : changes.notices) observer_.on_notice(notice);
  if (changes.became_ready) handle(JobEvent::kAllReady);
  if (changes.failed) {
    if (job_.snapshots.empty()) {  // before those that still run are told to leave
      job_.snapshots = group_.look();
      job_.waited_out = waited_out;
    }
    handle(JobEvent::kWorkerFailed);
  }
  for (const WorkerSet::StopAsked& stop : changes.stops) stop_asked(stop.agent, stop.signal);
  if (!group_.processes_gone()) return;
  handle(group_.pipes_drained() ? JobEvent::kAllDone : JobEvent::kProcessesGone);
}

// Without this, a run stopped by a stray signal to one rank would end unexplained. One signal to all processes of a job may reach a rank before it
// reaches us: by the time that a rank has saved, we have been asked, too.
void Supervisor::tell_who_asked(const plan::WorkerEvent& event) {
  const auto asked_by = event.data.find("asked_by");
  if (asked_by == event.data.end() || job_.stop_signal != 0) return;
  const int signal = event.data.value("asked_with", 0);
  observer_.on_notice(std::string(kWarningNotice) + signal_name(signal) + " from " +
                      sender_of(signal, *asked_by, joint_ != nullptr) +
                      ", not from the launcher, asked rank " + std::to_string(event.rank) +
                      " to stop, and with it the run");
}

void Supervisor::handle_signals() {
  while (const int signal = signals_->next()) stop_asked(0, signal);
}

// A terminal and mpirun send one signal to every agent: the job was asked as often as the agent that was asked most.
void Supervisor::stop_asked(int agent, int signal) {
  StopWishes& wishes = wishes_by_agent_[agent];
  if (!wishes.take(signal, monotonic_seconds()) || wishes.count() <= stops_) return;
  stops_ = wishes.count();
  last_signal_ = signal;
  // A scheduler announces the same end; to take it for a second wish would cost the save that it is about.
  if (out_of_time_ && stops_ == 1 && phase_ == Phase::kStopping) return announce_stop_for_time();
  if (job_.stop_signal == 0) {
    job_.stop_signal = signal;
  } else {
    job_.stop_forced = true;
  }
  handle(JobEvent::kStopAsked);
}

void Supervisor::handle_deadlines() {
  const double now = monotonic_seconds();
  if (phase_ <= Phase::kStopping && now >= hang_watch_->next_look()) look_for_hang(now);
  if (phase_ <= Phase::kRunning && now >= stop_budget_.stop_at()) stop_for_time();
  if (deadline_ && now >= *deadline_) {
    deadline_.reset();
    handle(JobEvent::kDeadline);
  }
  if (now >= next_notice_) tell_what_is_awaited(now);
}

void Supervisor::look_for_hang(double now) {
  std::vector<WorkerSnapshot> snapshots = group_.look();
  const HangWatch::Look found = hang_watch_->look(group_.records(), snapshots, now);
  if (found.ask_for_stacks) group_.ask_for_stacks();
  if (!found.hang) return;
  job_.hang = found.hang;
  job_.snapshots = std::move(snapshots);
  handle(JobEvent::kSilence);
}

void Supervisor::stop_for_time() {
  observer_.on_notice("the time of this job is over in " + format_duration(stop_budget_.kept_back_seconds()) +
                      (spec_.trains ? ", which saving may take" : ""));
  last_signal_ = job_.stop_signal = SIGTERM;
  out_of_time_ = true;
  handle(JobEvent::kStopAsked);
}

void Supervisor::announce_stop_for_time() {
  observer_.on_notice(signal_name(last_signal_) +
                      (spec_.trains
                           ? ": the run is stopping and saving already, because its time is over. "
                             "Send it again to stop now without saving"
                           : ": the run is stopping already, because its time is over. Send it again to "
                             "stop now"));
}

void Supervisor::handle(JobEvent event) {
  const Reaction reaction = react(phase_, event);
  if (reaction.next != phase_) {
    phase_since_ = monotonic_seconds();
    next_notice_ = phase_since_ + spec_.limits.patience_seconds;
  }
  phase_ = reaction.next;
  carry_out(reaction.actions);
}

void Supervisor::carry_out(uint32_t actions) {
  if (actions & kAnnounceStop) {
    observer_.on_notice(signal_name(last_signal_) +
                        (spec_.trains
                             ? ": stopping after this update and saving; this may take as long as one "
                               "update and one save. Send it again to stop now without saving"
                             : ": stopping after this batch; unfinished work is not kept. "
                               "Send it again to stop now"));
  }
  if (actions & kAnnounceEnd)
    observer_.on_notice(signal_name(last_signal_) + " again: stopping now" +
                        (spec_.trains ? " without saving" : ""));
  // Workers know no SIGQUIT: they would leave a core. To them SIGXCPU is the kernel's word about their own time.
  const bool ours_alone = last_signal_ == SIGQUIT || last_signal_ == SIGXCPU;
  if (actions & kForwardSignal) group_.signal_all(ours_alone ? SIGTERM : last_signal_);
  if (actions & kTerminate) group_.terminate();
  if (actions & kKill) group_.kill_all();
  if (actions & kStartGrace) deadline_ = monotonic_seconds() + spec_.limits.grace_seconds;
  if (actions & kAbandonPipes) {
    observer_.on_notice("a process started by a worker still holds its output open: not waiting for it");
    group_.abandon_pipes(*router_);
  }
}

void Supervisor::tell_what_is_awaited(double now) {
  next_notice_ = kNever;
  std::vector<int> ranks;
  for (const WorkerRecord& worker : group_.records()) {
    if (phase_ == Phase::kStarting ? !worker.ready : !worker.over()) ranks.push_back(worker.rank);
  }
  const char* awaited = nullptr;
  if (phase_ == Phase::kStarting) awaited = " to load the model and get ready";
  if (phase_ == Phase::kStopping)
    awaited = spec_.trains ? " to finish the update and save" : " to finish the batch";
  if (phase_ == Phase::kKilling) awaited = " to disappear; the kernel has not let go of it";
  if (awaited == nullptr || ranks.empty()) return;
  observer_.on_notice("still waiting for " + rank_list(ranks) + awaited + " (" +
                      format_duration(now - phase_since_) + ")");
  next_notice_ = now + 3 * spec_.limits.patience_seconds;
}

int Supervisor::poll_timeout_milliseconds() const {
  double next = std::min(next_notice_, deadline_.value_or(kNever));
  next = std::min(next, group_.next_deadline());
  if (phase_ <= Phase::kStopping) next = std::min(next, hang_watch_->next_look());
  if (phase_ <= Phase::kRunning) next = std::min(next, stop_budget_.stop_at());
  const double milliseconds = std::ceil(std::max(0.0, next - monotonic_seconds()) * 1000);
  return static_cast<int>(std::min(milliseconds, kLookSeconds * 1000));
}

void Supervisor::run_in_background(const std::function<void()>& work) {
  if (spec_.hub == nullptr) return work();
  spec_.hub->run_in_background(work);
}

// A full disk, or a limit on threads, must not hide what became of the job.
void Supervisor::try_in_background(const std::function<void()>& work) {
  try {
    run_in_background(work);
  } catch (...) {
    observer_.on_notice(hftrain::error_of(std::current_exception()).render());
  }
}

JobResult Supervisor::result() {
  try_in_background([this] { router_->drain(); });
  job_.workers = group_.records();
  for (WorkerRecord& worker : job_.workers) {
    if (worker.node.empty() && !worker.ended_orderly()) worker.last_lines = router_->last_lines(worker.rank);
  }
  job_.killed_for_memory = memory_kills() > memory_kills_at_start_;
  job_.address_limit_bytes = address_space_limit();
  const Verdict verdict = judge(job_);
  JobResult result{verdict.code,     verdict.reason, job_.stop_signal != 0,
                   job_.stop_forced, job_.workers,   std::nullopt};
  if (verdict.culprit) {
    const WorkerRecord& culprit = job_.workers[*verdict.culprit];
    const bool elsewhere = !culprit.node.empty();
    ReportFacts facts{culprit.last_lines, elsewhere ? culprit.logs : router_->folder_of(culprit.rank),
                      memory_limit()};
    result.failure = make_failure_report(job_, verdict, std::move(facts));
    write_crash_record(*result.failure, culprit);
  }
  return result;
}

void Supervisor::write_crash_record(const FailureReport& report, const WorkerRecord& worker) {
  const std::string path = router_->folder_of(report.rank) + "/error.json";
  const std::string text = dump_json(crash_record(worker, report, job_)) + '\n';
  try_in_background([&] {
    if (spec_.logs_in_place()) write_file_atomically(path, text);
  });
}

}  // namespace hftrain::launcher
