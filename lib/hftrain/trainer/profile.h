// Traces of some updates for chrome://tracing (--profile_steps), by the profiler of LibTorch.
#pragma once

#include <cstdint>
#include <string>

#include "hftrain/plan/run_plan.h"
#include "hftrain/runtime/worker_context.h"

namespace hftrain::trainer {

// Used by the thread that trains, whose operators and those of its backward passes it sees. It waits for the device before it begins and
// before it ends: the host is ahead of it, and what the device has still to do belongs to the updates that were begun.
class Profile {
 public:
  // `plan` and `context` must outlive the object.
  Profile(const plan::RunPlan& plan, const runtime::WorkerContext& context)
      : plan_(plan), context_(context) {}
  ~Profile();  // of a run that ended between the two: nothing is written
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // `step`: the update that begins, counted from 1.
  void before_update(int64_t step);
  // The same one is done. Returns the file that was written, empty when none was. An Error (exit code 7) when
  // that fails.
  std::string after_update(int64_t step);

 private:
  const plan::RunPlan& plan_;
  const runtime::WorkerContext& context_;
  bool running_ = false;
};

}  // namespace hftrain::trainer
