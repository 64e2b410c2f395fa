// Shows a job on the console as it goes.
//
// A terminal that stops taking text (Ctrl-S, a pager, a launcher that is busy) must not stop the supervision,
// nor fill the memory: what it is far behind with is left out, and that is said when it takes text again.
// hftrain/log.jsonl and hftrain/ranks have all of it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "hftrain/plan/run_plan.h"
#include "hftrain/reporting/console.h"
#include "launcher/front/patient_stream.h"
#include "launcher/supervision/supervisor.h"

namespace hftrain::front {

class JobConsole : public launcher::WorkerObserver {
 public:
  // References must outlive the object. `terminal` is the console's stream; of a rank whose stderr `words` does not show no events
  // are shown. `started`: when the workers are started, in monotonic seconds.
  JobConsole(reporting::Console& console, const PatientStream& terminal, const plan::RunPlan& plan,
             launcher::OutputFilter words, double started);

  void on_event(const plan::WorkerEvent& event) override;
  void on_output(const launcher::OutputLine& line) override;
  void on_notice(const std::string& text) override;

  // From starting the workers until the last was up, without what they loaded themselves; 0 until then.
  double spawn_seconds() const { return spawn_seconds_; }
  // Checkpoints that were committed, oldest first.
  const std::vector<std::string>& checkpoints() const { return checkpoints_; }

 private:
  void on_ready(const plan::WorkerEvent& event);
  // Whether something can be shown now. Says, once it can again, that something was left out.
  bool can_show();
  std::string prefix(int rank) const;

  reporting::Console& console_;
  const PatientStream& terminal_;
  const plan::RunPlan& plan_;
  launcher::OutputFilter words_;
  double started_;
  std::set<int> ready_;
  double spawn_seconds_ = 0;
  std::vector<std::string> checkpoints_;
  bool left_out_ = false;  // something was not shown
};

}  // namespace hftrain::front
