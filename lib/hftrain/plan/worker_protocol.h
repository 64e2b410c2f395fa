// What the launcher and a worker say to each other.
//
// Down: argv `hftrain-worker --plan FILE --control-fd N [--status-fd K] [--store-fd M]`, the environment
// variables RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, HFTRAIN_ATTEMPT, and
// signals: SIGTERM/SIGUSR1/SIGUSR2/SIGHUP/SIGINT ask for an orderly stop (finish the update, save, leave), a second
// one asks to leave without saving.
//   --store-fd   a listening TCP socket, already bound by the launcher to MASTER_PORT; rank 0 serves the store
//                on it
//   --status-fd  the worker's status page (base/status_page.h)
// Up: one JSON object per line on the control descriptor. A worker's stdout and stderr are for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hftrain/base/json.h"

namespace hftrain::plan {

struct WorkerEvent {
  enum class Kind {
    kReady,  // process groups are up and all ranks agree on the plan
    // {phase, done, total}: batches of "eval", "predict" (rank 0), bytes of "load", "save", rows of "data" that have come
    // while a rank waits for others.
    kProgress,
    // One update finished: {step, total}; every rank; proof of life. Rank 0 adds {tokens_per_second,
    // memory_bytes} where it knows them.
    kStep,
    kLog,         // a logged record for the console: {record}; rank 0 only
    kMetrics,     // the block at the end of a split: {text}; rank 0 only
    kMessage,     // a line for people: {level, text}
    kCheckpoint,  // {step, path, seconds, stall_seconds when in the background}: committed; rank 0 only
    // The last event of an orderly end: {exit_code, reason, stats}; where another process than the launcher asked this
    // rank to stop, its number and the signal: {asked_by, asked_with}.
    kFinished,
    // The last event of a failure: {exit_code, what, where, why, hint}, with step, the last one finished, if any,
    // and of_rank of a peer's.
    kFailed,
  };
  Kind kind = Kind::kMessage;
  int rank = 0;
  double time = 0;             // Unix seconds
  Json data = Json::object();  // members by kind, as above
};

// One line, with its newline.
std::string encode_event(const WorkerEvent& event);
// nullopt for a line that is not an event (a torn last line of a killed worker, say), or has a member of another kind, or a
// whole number beyond what it is read into (`step`, `done`, `total` as int64_t, others as int). Never throws.
std::optional<WorkerEvent> decode_event(std::string_view line);

}  // namespace hftrain::plan
