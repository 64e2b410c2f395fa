#include "launcher/supervision/worker_set.h"

#include <algorithm>

namespace hftrain::launcher {

using Kind = plan::WorkerEvent::Kind;

bool WorkerSet::processes_gone() const {
  return std::all_of(records().begin(), records().end(), [](const WorkerRecord& r) { return r.over(); });
}

bool WorkerSet::all_ready() const {
  return std::all_of(records().begin(), records().end(), [](const WorkerRecord& r) { return r.ready; });
}

bool take_event(WorkerRecord& record, const plan::WorkerEvent& event, double now) {
  record.last_heard = now;
  if (event.kind == Kind::kReady) record.ready = true;
  if (event.kind == Kind::kStep && event.data.contains("step") && event.data["step"].is_number_integer()) {
    record.step = event.data["step"].get<int64_t>();
  }
  if (event.kind == Kind::kFinished) record.finished = event;
  if (event.kind != Kind::kFailed || record.failed) return false;
  record.failed = event;
  return true;
}

}  // namespace hftrain::launcher
