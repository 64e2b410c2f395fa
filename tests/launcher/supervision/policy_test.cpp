#include "launcher/supervision/policy.h"

#include "support/catch.h"

namespace hftrain::launcher {
namespace {

constexpr Phase kPhases[] = {Phase::kStarting, Phase::kRunning,  Phase::kStopping, Phase::kEnding,
                             Phase::kKilling,  Phase::kDraining, Phase::kOver};
constexpr JobEvent kEvents[] = {JobEvent::kAllReady, JobEvent::kStopAsked, JobEvent::kWorkerFailed,
                                JobEvent::kSilence,  JobEvent::kDeadline,  JobEvent::kProcessesGone,
                                JobEvent::kAllDone};

}  // namespace

TEST_CASE("a failed worker ends the job from every phase in which others still work") {
  for (const Phase phase : {Phase::kStarting, Phase::kRunning, Phase::kStopping}) {
    INFO(phase_name(phase));
    CHECK(react(phase, JobEvent::kWorkerFailed) == Reaction{Phase::kEnding, kTerminate | kStartGrace});
    CHECK(react(phase, JobEvent::kSilence) == Reaction{Phase::kEnding, kTerminate | kStartGrace});
  }
}

TEST_CASE("further failures while the job ends change nothing, so the grace period is not prolonged") {
  CHECK(react(Phase::kEnding, JobEvent::kWorkerFailed) == Reaction{Phase::kEnding, kNothing});
  CHECK(react(Phase::kKilling, JobEvent::kWorkerFailed) == Reaction{Phase::kKilling, kNothing});
}

TEST_CASE("the first signal asks for an orderly stop, the second ends the job, the third kills it") {
  CHECK(react(Phase::kRunning, JobEvent::kStopAsked) ==
        Reaction{Phase::kStopping, kAnnounceStop | kForwardSignal});
  CHECK(react(Phase::kStarting, JobEvent::kStopAsked) ==
        Reaction{Phase::kStopping, kAnnounceStop | kForwardSignal});
  CHECK(react(Phase::kStopping, JobEvent::kStopAsked) ==
        Reaction{Phase::kEnding, kAnnounceEnd | kForwardSignal | kStartGrace});
  CHECK(react(Phase::kEnding, JobEvent::kStopAsked) == Reaction{Phase::kKilling, kKill | kStartGrace});
}

TEST_CASE("workers that become ready during a stop do not put the job back to running") {
  CHECK(react(Phase::kStarting, JobEvent::kAllReady).next == Phase::kRunning);
  CHECK(react(Phase::kStopping, JobEvent::kAllReady).next == Phase::kStopping);
  CHECK(react(Phase::kEnding, JobEvent::kAllReady).next == Phase::kEnding);
}

TEST_CASE("the end of the grace period kills what is left, and again, until the processes are gone") {
  CHECK(react(Phase::kEnding, JobEvent::kDeadline) == Reaction{Phase::kKilling, kKill | kStartGrace});
  CHECK(react(Phase::kKilling, JobEvent::kDeadline) == Reaction{Phase::kKilling, kKill | kStartGrace});
}

TEST_CASE("pipes that stay open are drained for a grace period and then given up") {
  for (const Phase phase :
       {Phase::kStarting, Phase::kRunning, Phase::kStopping, Phase::kEnding, Phase::kKilling}) {
    INFO(phase_name(phase));
    CHECK(react(phase, JobEvent::kProcessesGone) == Reaction{Phase::kDraining, kStartGrace});
  }
  CHECK(react(Phase::kDraining, JobEvent::kProcessesGone) == Reaction{Phase::kDraining, kNothing});
  CHECK(react(Phase::kDraining, JobEvent::kDeadline) == Reaction{Phase::kOver, kAbandonPipes});
}

TEST_CASE("the job is over from any phase when processes are gone and pipes drained, and stays over") {
  for (const Phase phase : kPhases)
    CHECK(react(phase, JobEvent::kAllDone) == Reaction{Phase::kOver, kNothing});
  for (const JobEvent event : kEvents) CHECK(react(Phase::kOver, event) == Reaction{Phase::kOver, kNothing});
}

TEST_CASE("no event leads back to an earlier phase, and whatever waits for a deadline has one") {
  for (const Phase phase : kPhases) {
    for (const JobEvent event : kEvents) {
      const Reaction reaction = react(phase, event);
      INFO(phase_name(phase) << " on " << event_name(event) << " -> " << phase_name(reaction.next));
      CHECK(reaction.next >= phase);
      const bool enters_wait =
          reaction.next != phase && reaction.next >= Phase::kEnding && reaction.next < Phase::kOver;
      if (enters_wait) CHECK((reaction.actions & kStartGrace) != 0);
    }
  }
}

}  // namespace hftrain::launcher
