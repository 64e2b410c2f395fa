// Tells a job that hangs from one that takes its time. Pure: events, snapshots and the time are given.
//
// Any word of any worker is a sign of life. Between two signs a job may be silent for as long as its phase
// allows:
//
//   starting, loading, saving, leaving   startup_seconds
//   training, evaluating                 startup_seconds until the third update (batch, or short evaluation)
//                                        was reported, then `multiple` times the longest of the last
//                                        kRecent pauses between two, at least least_seconds
//   waiting for data                     most_seconds: what it waits for is not the job's
//
// and never longer than most_seconds. After that the workers are looked at, twice. A job hangs when between
// the two looks no worker has got any further and the one that is behind neither computes nor waits for a
// disk. One that does is given until startup_seconds, and while loading or saving until most_seconds. Nothing
// hangs while a debugger holds a worker.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "launcher/supervision/verdict.h"

namespace hftrain::launcher {

struct HangLimits {
  double startup_seconds = 300;
  double least_seconds = 30;
  double most_seconds = 1800;  // --ddp_timeout; 0: nothing is watched
  double multiple = 10;
  double confirm_seconds = 2;  // between the two looks
  bool alone = false;          // one rank: nobody waits for it, so while it computes it may take for ever
};

class HangWatch {
 public:
  static constexpr size_t kRecent = 32;

  HangWatch(HangLimits limits, double now) : limits_(limits), last_sign_(now), next_look_(now) {
    look_again_later();
  }

  void heard(const plan::WorkerEvent& event, double now);
  // For so long this program was not run, and its ranks hardly: that was no silence, and no pause to learn from.
  void skip(double seconds);

  // When look() is to be called; infinite when nothing is watched.
  double next_look() const { return next_look_; }
  // Whether so much time has gone by without a sign of life that ranks give up waiting for each other.
  bool waited_out(double now) const;

  struct Look {
    bool ask_for_stacks = false;  // it looks like a hang: the next look decides
    std::optional<Hang> hang;
  };
  // `snapshots` by worker, as `workers`.
  Look look(const std::vector<WorkerRecord>& workers, const std::vector<WorkerSnapshot>& snapshots,
            double now);

  // How long nobody may say anything in a phase.
  double allowed_seconds(WorkPhase phase) const;

 private:
  using Pauses = std::deque<double>;
  struct Suspicion {
    std::vector<WorkerSnapshot> snapshots;
    double time;
  };

  void learn(Pauses& pauses, double now);
  void look_again_later();
  double allowed_seconds(const std::vector<WorkerRecord>& workers,
                         const std::vector<WorkerSnapshot>& snapshots) const;
  double patience_with_busy(WorkPhase phase) const;
  bool is_busy(const WorkerSnapshot& before, const WorkerSnapshot& after, double seconds) const;

  HangLimits limits_;
  double last_sign_;
  double next_look_;
  std::optional<double> last_of_first_;  // the last event of rank 0, whose pauses are learned from
  Pauses training_, evaluating_;
  WorkPhase heard_phase_ = WorkPhase::kStarting;  // as the events tell
  std::optional<Suspicion> suspicion_;
};

// Of workers that wait for each other, the one the others wait for.
struct Suspect {
  enum class Sign {
    kStopped,          // its process is stopped
    kNotReady,         // others are ready
    kBehindOperation,  // others have begun a collective operation that it has not
    kBehindStep,       // others have finished an update that it has not
    kDisk,             // it waits for a disk
    kQuiet,            // nothing but that it was heard of longest ago
  };
  size_t worker = 0;
  Sign sign = Sign::kQuiet;
};
// Among the workers that run and have reported neither an end nor a failure; without any, among those that
// have reported an end and still run; nothing when there is none.
// `snapshots` may be empty.
std::optional<Suspect> find_suspect(const std::vector<WorkerRecord>& workers,
                                    const std::vector<WorkerSnapshot>& snapshots);

}  // namespace hftrain::launcher
