#include "launcher/supervision/hang_watch.h"

#include <algorithm>
#include <tuple>

#include "hftrain/base/clock.h"

namespace hftrain::launcher {
namespace {

using Kind = plan::WorkerEvent::Kind;
using Sign = Suspect::Sign;

constexpr size_t kPausesToLearnFrom = 3;
constexpr double kBusyShare = 0.05;  // of a core; a rank that waits in a collective uses a hundredth

bool takes_part(const WorkerRecord& worker) {
  return !worker.over() && !worker.finished && !worker.failed;
}

WorkerSnapshot snapshot_of(const std::vector<WorkerSnapshot>& snapshots, size_t worker) {
  return worker < snapshots.size() ? snapshots[worker] : WorkerSnapshot{};
}

bool anyone_moved(const std::vector<WorkerSnapshot>& before, const std::vector<WorkerSnapshot>& after) {
  for (size_t i = 0; i < after.size(); ++i) {
    if (!after[i].status.same_place(snapshot_of(before, i).status)) return true;
  }
  return false;
}

// The record of a finished evaluation.
bool tells_of_evaluation(const plan::WorkerEvent& event) {
  const auto record = event.data.find("record");
  return event.kind == Kind::kLog && record != event.data.end() && record->contains("eval_runtime");
}

int64_t step_of(const WorkerRecord& worker, const WorkerSnapshot& snapshot) {
  return snapshot.has_status ? std::max(worker.step, snapshot.status.step) : worker.step;
}

}  // namespace

void HangWatch::learn(Pauses& pauses, double now) {
  if (!last_of_first_) return;
  pauses.push_back(now - *last_of_first_);
  if (pauses.size() > kRecent) pauses.pop_front();
}

void HangWatch::heard(const plan::WorkerEvent& event, double now) {
  last_sign_ = now;
  suspicion_.reset();
  if (event.rank == 0) {
    if (event.kind == Kind::kStep) {
      learn(training_, now);
      heard_phase_ = WorkPhase::kTraining;
    }
    if (event.kind == Kind::kProgress) {
      const std::string phase = event.data.value("phase", std::string());
      if (phase == "eval" || phase == "predict") {
        learn(evaluating_, now);
        heard_phase_ = WorkPhase::kEvaluating;
      }
    }
    if (tells_of_evaluation(event)) learn(evaluating_, now);  // a short one tells of no batch
    last_of_first_ = now;
  }
  look_again_later();
}

void HangWatch::skip(double seconds) {
  last_sign_ += seconds;
  next_look_ += seconds;
  if (last_of_first_) *last_of_first_ += seconds;
  if (suspicion_) suspicion_->time += seconds;
}

void HangWatch::look_again_later() {
  next_look_ = limits_.most_seconds > 0 ? last_sign_ + allowed_seconds(heard_phase_) : kNever;
}

bool HangWatch::waited_out(double now) const {
  constexpr double kNearly = 0.8;  // their clocks began before the last sign of life
  return limits_.most_seconds > 0 && now - last_sign_ >= kNearly * limits_.most_seconds;
}

double HangWatch::allowed_seconds(WorkPhase phase) const {
  if (phase == WorkPhase::kWaitingForData) return limits_.most_seconds;
  const bool learns = phase == WorkPhase::kTraining || phase == WorkPhase::kEvaluating;
  const Pauses& pauses = phase == WorkPhase::kTraining ? training_ : evaluating_;
  if (!learns || pauses.size() < kPausesToLearnFrom) {
    return std::min(limits_.startup_seconds, limits_.most_seconds);
  }
  const double longest = *std::max_element(pauses.begin(), pauses.end());
  return std::min(std::max(limits_.multiple * longest, limits_.least_seconds), limits_.most_seconds);
}

// What the most patient of the present phases allows: ranks may be in different ones.
double HangWatch::allowed_seconds(const std::vector<WorkerRecord>& workers,
                                  const std::vector<WorkerSnapshot>& snapshots) const {
  double allowed = 0;
  for (size_t i = 0; i < workers.size(); ++i) {
    if (workers[i].over()) continue;
    const WorkerSnapshot snapshot = snapshot_of(snapshots, i);
    allowed = std::max(allowed, allowed_seconds(snapshot.has_status ? snapshot.status.phase : heard_phase_));
  }
  return allowed;
}

double HangWatch::patience_with_busy(WorkPhase phase) const {
  if (limits_.alone) return kNever;
  const bool works_alone = phase != WorkPhase::kTraining && phase != WorkPhase::kEvaluating;
  if (works_alone) return limits_.most_seconds;
  return std::min(std::max(allowed_seconds(phase), limits_.startup_seconds), limits_.most_seconds);
}

bool HangWatch::is_busy(const WorkerSnapshot& before, const WorkerSnapshot& after, double seconds) const {
  // A host whose device is in an operation all the while spins; it computes nothing.
  if (after.process.stopped() || (before.status.waits > 0 && after.status.waits > 0)) return false;
  if (after.process.state == '?') return true;  // on another machine: it has the benefit of the doubt
  const double used = after.process.cpu_seconds - before.process.cpu_seconds;
  // On a crowded machine one that is ready to run hardly gets to run.
  return after.process.runs() || after.process.waits_for_disk() || used > kBusyShare * seconds;
}

HangWatch::Look HangWatch::look(const std::vector<WorkerRecord>& workers,
                                const std::vector<WorkerSnapshot>& snapshots, double now) {
  const std::optional<Suspect> suspect = find_suspect(workers, snapshots);
  const double allowed = allowed_seconds(workers, snapshots);
  if (!suspect || now < last_sign_ + allowed) {
    suspicion_.reset();
    // What lets a rank wait for data may end without a word, and then something else hang.
    const double later = now + limits_.startup_seconds;
    next_look_ = suspect ? std::min(last_sign_ + allowed, later) : later;
    return {};
  }
  const bool held =
      std::any_of(snapshots.begin(), snapshots.end(), [](const auto& s) { return s.process.traced(); });
  if (held || (suspicion_ && anyone_moved(suspicion_->snapshots, snapshots))) {
    suspicion_.reset();
    last_sign_ = now;
    next_look_ = now + allowed;
    return {};
  }
  if (!suspicion_) {
    suspicion_ = Suspicion{snapshots, now};
    next_look_ = now + limits_.confirm_seconds;
    return {.ask_for_stacks = true, .hang = std::nullopt};
  }
  const WorkerSnapshot snapshot = snapshot_of(snapshots, suspect->worker);
  const WorkPhase phase = snapshot.has_status ? snapshot.status.phase : heard_phase_;
  const WorkerSnapshot before = snapshot_of(suspicion_->snapshots, suspect->worker);
  if (is_busy(before, snapshot, now - suspicion_->time) && now < last_sign_ + patience_with_busy(phase)) {
    suspicion_ = Suspicion{snapshots, now};
    next_look_ = now + limits_.confirm_seconds;
    return {};
  }
  return {.ask_for_stacks = false, .hang = Hang{suspect->worker, now - last_sign_, allowed}};
}

std::optional<Suspect> find_suspect(const std::vector<WorkerRecord>& workers,
                                    const std::vector<WorkerSnapshot>& snapshots) {
  std::vector<size_t> candidates, leaving;
  uint64_t most_operations = 0;
  int64_t newest_step = -1;
  bool any_ready = false;
  for (size_t i = 0; i < workers.size(); ++i) {
    const WorkerSnapshot snapshot = snapshot_of(snapshots, i);
    most_operations = std::max(most_operations, snapshot.status.operations);
    newest_step = std::max(newest_step, step_of(workers[i], snapshot));
    any_ready = any_ready || workers[i].ready;
    if (takes_part(workers[i])) candidates.push_back(i);
    if (workers[i].finished && !workers[i].over()) leaving.push_back(i);
  }
  if (candidates.empty()) candidates = std::move(leaving);
  if (candidates.empty()) return std::nullopt;
  const auto sign_of = [&](size_t i) {
    const WorkerSnapshot snapshot = snapshot_of(snapshots, i);
    if (snapshot.process.stopped()) return Sign::kStopped;
    if (any_ready && !workers[i].ready) return Sign::kNotReady;
    if (snapshot.has_status && snapshot.status.operations < most_operations) return Sign::kBehindOperation;
    if (step_of(workers[i], snapshot) < newest_step) return Sign::kBehindStep;
    return snapshot.process.waits_for_disk() ? Sign::kDisk : Sign::kQuiet;
  };
  const auto order = [&](size_t i) {
    const WorkerSnapshot snapshot = snapshot_of(snapshots, i);
    return std::tuple(sign_of(i), snapshot.status.operations, step_of(workers[i], snapshot),
                      snapshot.has_status, snapshot.status.phase, workers[i].last_heard);
  };
  const size_t suspect = *std::min_element(candidates.begin(), candidates.end(),
                                           [&](size_t a, size_t b) { return order(a) < order(b); });
  return Suspect{suspect, sign_of(suspect)};
}

}  // namespace hftrain::launcher
