#include "launcher/control/follower.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"
#include "launcher/control/background_work.h"
#include "launcher/process/memory_events.h"
#include "launcher/supervision/verdict.h"

namespace hftrain::launcher {
namespace {

constexpr double kGraceSeconds = 0.5;
constexpr size_t kMostWaiting = size_t{16} << 20;  // bytes of what the leader has not taken
constexpr double kVerdictSeconds = 5;              // in which the leader judges a job whose ranks are gone
constexpr double kSnapshotSeconds = 1;             // the leader judges by what it has seen two seconds apart

JobEnded refused(const Refusal& refusal, const std::string& leader) {
  return JobEnded(Error(failure_code(refusal.exit_code), leader + " ended the job").why(trim(refusal.text)));
}

}  // namespace

Follower::Follower(ControlLink& link, std::string leader, StopSignals& signals)
    : link_(link), leader_(std::move(leader)), signals_(signals) {}

JobEnded Follower::lost() const {
  return JobEnded(
      Error(ExitCode::kWorkerLost, leader_ + " was lost")
          .where(link_.peer_address())
          .why(link_.end())
          .hint(
              "see what it said on its own terminal, and whether its machine and the network to it are up"));
}

// Polls the connection, the signals and `watched` until something happens, and takes what the leader said.
void Follower::wait(std::vector<pollfd>& watched, double until) {
  watched.push_back({signals_.descriptor(), POLLIN, 0});
  if (link_.open()) watched.push_back({link_.descriptor(), link_.events(), 0});
  const double next = std::min(until, link_.open() ? link_.next_tick() : kNever);
  const double left = std::max(0.0, next - monotonic_seconds());
  ::poll(watched.data(), watched.size(), std::isinf(left) ? -1 : static_cast<int>(std::ceil(left * 1000)));
  hear();
  link_.tick(monotonic_seconds());
  pass_signals();
}

void Follower::hear() {
  std::vector<Message> heard;
  link_.work(heard);
  std::move(heard.begin(), heard.end(), std::back_inserter(waiting_));
}

// The leader counts them itself.
void Follower::pass_signals() {
  while (const int signal = signals_.next()) {
    const double now = monotonic_seconds();
    if (wishes_.take(signal, now) && wishes_.count() == 2)
      patient_until_ = ran_ ? now + kVerdictSeconds : now;
    link_.send(StopReceived{signal});
  }
}

Message Follower::next() {
  while (true) {
    if (!waiting_.empty()) {
      Message message = std::move(waiting_.front());
      waiting_.pop_front();
      if (const auto* refusal = std::get_if<Refusal>(&message)) throw refused(*refusal, leader_);
      if (const auto* verdict = std::get_if<JobVerdict>(&message)) verdict_ = *verdict;
      return message;
    }
    if (!link_.open()) {
      hear();  // its last word may have come together with its welcome
      if (waiting_.empty()) throw lost();
      continue;
    }
    if (monotonic_seconds() >= patient_until_)
      throw JobEnded(Error(ExitCode::kTerminatedUnsaved, "stopped at once by a second signal")
                         .where("this node")
                         .why("a first signal waits for the step and the save, a second one for nothing")
                         .hint("the same command goes on from the newest checkpoint"));
    std::vector<pollfd> watched;
    wait(watched, patient_until_);
  }
}

void Follower::run_in_background(const std::function<void(const std::atomic<bool>& stop)>& work) {
  BackgroundWork background(work);
  while (!background.over()) {
    std::vector<pollfd> watched = {{background.descriptor(), POLLIN, 0}};
    wait(watched, kNever);
    const bool refused = std::any_of(waiting_.begin(), waiting_.end(), [](const Message& message) {
      return std::holds_alternative<Refusal>(message);
    });
    if (refused || !link_.open() || wishes_.count() > 0) background.ask_to_stop();
  }
  background.finish();
  hear();
  if (!link_.open() && waiting_.empty()) throw lost();
}

// One start of the workers, until they are gone.
class Follower::Shift {
 public:
  Shift(Follower& follower, std::vector<WorkerSpec> workers, OutputSpec output)
      : follower_(follower),
        logs_(output.folder),
        router_(
            std::move(output), ranks_of(workers),
            [this](const OutputLine& line) {
              follower_.say(WorkerPrinted{line.rank, line.stream == Stream::kErr, line.text});
            },
            [this](const std::string& notice) { follower_.say(AgentNotice{notice}); }),
        group_(std::move(workers), -1),
        memory_kills_(memory_kills()) {}

  void run() {
    group_.start();
    for (const WorkerRecord& record : group_.records()) follower_.say(WorkerStarted{record.rank, record.pid});
    told_.resize(group_.records().size());
    while (!over()) {
      std::vector<pollfd> watched;
      group_.hold_output(follower_.link_.waiting() >= kMostWaiting);
      group_.append_descriptors(watched);
      follower_.wait(watched, std::min({deadline_, next_snapshot_, group_.next_deadline()}));
      tell(group_.read_ready(watched, router_));
      obey();
      if (monotonic_seconds() >= deadline_) carry_on();
      if (monotonic_seconds() >= next_snapshot_) show_workers();
    }
    router_.drain();
    follower_.say(gone());
    if (!follower_.link_.open()) throw follower_.lost();
    if (refusal_) throw refused(*refusal_, follower_.leader_);
  }

 private:
  bool over() const { return group_.processes_gone() && group_.pipes_drained(); }

  void tell(const WorkerSet::Changes& changes) {
    for (const plan::WorkerEvent& event : changes.events) tell_event(event);
    const std::vector<WorkerRecord>& records = group_.records();
    for (size_t i = 0; i < records.size(); ++i) {
      if (!records[i].status || told_[i]) continue;
      told_[i] = true;
      show_workers();
      follower_.say(WorkerEnded{records[i].rank, records[i].status->signal, records[i].status->code,
                                records[i].signals_sent, memory_kills() > memory_kills_});
    }
    if (group_.processes_gone() && !group_.pipes_drained()) act_in(kGraceSeconds);
  }

  // That a rank has finished an update is told with the next look, unless it is the first, whose are shown.
  void tell_event(const plan::WorkerEvent& event) {
    if (event.kind == plan::WorkerEvent::Kind::kStep && event.rank != 0) {
      held_.insert_or_assign(event.rank, event);
      return;
    }
    tell_held(event.rank);
    follower_.say(WorkerSaid{plan::encode_event(event)});
  }
  void tell_held(int rank) {
    const auto held = held_.find(rank);
    if (held == held_.end()) return;
    follower_.say(WorkerSaid{plan::encode_event(held->second)});
    held_.erase(held);
  }

  void show_workers() {
    next_snapshot_ = monotonic_seconds() + kSnapshotSeconds;
    std::vector<WorkerSnapshot> snapshots = group_.look();
    WorkersSeen seen;
    WorkerStacks changed;
    for (size_t i = 0; i < snapshots.size(); ++i) {
      const int rank = group_.records()[i].rank;
      tell_held(rank);
      std::string stack = std::exchange(snapshots[i].status.stack, {});
      if (stack != stacks_[rank]) changed.stacks[std::to_string(rank)] = stacks_[rank] = std::move(stack);
      seen.snapshots[std::to_string(rank)] = std::move(snapshots[i]);
    }
    if (!changed.stacks.empty()) follower_.say(changed);
    follower_.say(seen);
  }

  void obey() {
    for (Message& message : std::exchange(follower_.waiting_, {})) {
      if (is_for_later(message)) {
        follower_.waiting_.push_back(std::move(message));
        continue;
      }
      if (const auto* signal = std::get_if<SignalWorkers>(&message)) {
        if (is_stop_signal(signal->signal)) group_.signal_all(signal->signal);
      }
      if (const auto* end = std::get_if<EndWorkers>(&message))
        end->kill ? group_.kill_all() : group_.terminate();
      if (std::holds_alternative<AskForStacks>(message)) group_.ask_for_stacks();
      if (const auto* refusal = std::get_if<Refusal>(&message)) {
        refusal_ = *refusal;
        end_all();
      }
      if (const auto* verdict = std::get_if<JobVerdict>(&message)) {
        follower_.verdict_ = *verdict;
        end_all();
      }
    }
    if (!follower_.link_.open()) end_all();
  }

  // The leader may know of the last worker's end, and begin another attempt, while this agent still waits for pipes. Behind
  // StartWorkers all is for the workers that it starts, but the end of the job.
  bool is_for_later(const Message& message) const {
    if (std::holds_alternative<Refusal>(message) || std::holds_alternative<JobVerdict>(message)) return false;
    const bool of_a_start =
        std::any_of(follower_.waiting_.begin(), follower_.waiting_.end(),
                    [](const Message& kept) { return std::holds_alternative<StartWorkers>(kept); });
    return of_a_start ||
           !(std::holds_alternative<SignalWorkers>(message) || std::holds_alternative<EndWorkers>(message) ||
             std::holds_alternative<AskForStacks>(message));
  }

  // Without the leader there is nobody to wait for: the workers go, and then this agent.
  void end_all() {
    if (ending_) return;
    ending_ = true;
    group_.terminate();
    act_in(kGraceSeconds);
  }

  void act_in(double seconds) { deadline_ = std::min(deadline_, monotonic_seconds() + seconds); }

  // The grace period is over.
  void carry_on() {
    deadline_ = kNever;
    if (!group_.processes_gone()) {
      group_.kill_all();
      act_in(kGraceSeconds);
    } else if (!group_.pipes_drained()) {
      follower_.say(
          AgentNotice{"a process started by a worker still holds its output open: not waiting for it"});
      group_.abandon_pipes(router_);
    }
  }

  WorkersGone gone() const {
    WorkersGone gone{{}, logs_};
    for (const WorkerRecord& record : group_.records()) {
      if (!record.ended_orderly())
        gone.last_lines[std::to_string(record.rank)] = router_.last_lines(record.rank);
    }
    return gone;
  }

  Follower& follower_;
  std::string logs_;
  OutputRouter router_;
  WorkerGroup group_;
  uint64_t memory_kills_;
  std::map<int, plan::WorkerEvent> held_;  // the newest update of a rank that was not told
  std::map<int, std::string> stacks_;      // as they were told last
  std::vector<bool> told_;                 // by worker: the leader knows that it has ended
  double deadline_ = kNever;
  double next_snapshot_ = 0;
  bool ending_ = false;
  std::optional<Refusal> refusal_;
};

void Follower::run(std::vector<WorkerSpec> workers, OutputSpec output) {
  Shift(*this, std::move(workers), std::move(output)).run();
  ran_ = true;
  if (wishes_.count() > 1) patient_until_ = monotonic_seconds() + kVerdictSeconds;
}

}  // namespace hftrain::launcher
