#include "launcher/supervision/policy.h"

#include <cstddef>

namespace hftrain::launcher {
namespace {

using P = Phase;

constexpr size_t kPhases = 7;
constexpr size_t kEvents = 7;
constexpr uint32_t kStopOrderly = kAnnounceStop | kForwardSignal;
constexpr uint32_t kStopNow = kAnnounceEnd | kForwardSignal | kStartGrace;
constexpr uint32_t kEndAll = kTerminate | kStartGrace;
constexpr uint32_t kKillAll = kKill | kStartGrace;

// One row per event, one column per phase.
constexpr Reaction kTable[kEvents][kPhases] = {
    // starting               running                 stopping                ending
    // killing                draining                over
    /* all ready */
    {{P::kRunning, kNothing},
     {P::kRunning, kNothing},
     {P::kStopping, kNothing},
     {P::kEnding, kNothing},
     {P::kKilling, kNothing},
     {P::kDraining, kNothing},
     {P::kOver, kNothing}},
    /* stop asked */
    {{P::kStopping, kStopOrderly},
     {P::kStopping, kStopOrderly},
     {P::kEnding, kStopNow},
     {P::kKilling, kKillAll},
     {P::kKilling, kNothing},
     {P::kDraining, kNothing},
     {P::kOver, kNothing}},
    /* worker failed */
    {{P::kEnding, kEndAll},
     {P::kEnding, kEndAll},
     {P::kEnding, kEndAll},
     {P::kEnding, kNothing},
     {P::kKilling, kNothing},
     {P::kDraining, kNothing},
     {P::kOver, kNothing}},
    /* silence */
    {{P::kEnding, kEndAll},
     {P::kEnding, kEndAll},
     {P::kEnding, kEndAll},
     {P::kEnding, kNothing},
     {P::kKilling, kNothing},
     {P::kDraining, kNothing},
     {P::kOver, kNothing}},
    /* deadline */
    {{P::kStarting, kNothing},
     {P::kRunning, kNothing},
     {P::kStopping, kNothing},
     {P::kKilling, kKillAll},
     {P::kKilling, kKillAll},
     {P::kOver, kAbandonPipes},
     {P::kOver, kNothing}},
    /* processes gone */
    {{P::kDraining, kStartGrace},
     {P::kDraining, kStartGrace},
     {P::kDraining, kStartGrace},
     {P::kDraining, kStartGrace},
     {P::kDraining, kStartGrace},
     {P::kDraining, kNothing},
     {P::kOver, kNothing}},
    /* all done */
    {{P::kOver, kNothing},
     {P::kOver, kNothing},
     {P::kOver, kNothing},
     {P::kOver, kNothing},
     {P::kOver, kNothing},
     {P::kOver, kNothing},
     {P::kOver, kNothing}},
};

}  // namespace

Reaction react(Phase phase, JobEvent event) {
  return kTable[static_cast<size_t>(event)][static_cast<size_t>(phase)];
}

const char* phase_name(Phase phase) {
  constexpr const char* kNames[kPhases] = {"starting", "running",  "stopping", "ending",
                                           "killing",  "draining", "over"};
  return kNames[static_cast<size_t>(phase)];
}

const char* event_name(JobEvent event) {
  constexpr const char* kNames[kEvents] = {"all ready", "stop asked",     "worker failed", "silence",
                                           "deadline",  "processes gone", "all done"};
  return kNames[static_cast<size_t>(event)];
}

}  // namespace hftrain::launcher
