// --max_restarts: whether a job that failed is started again, and from which checkpoint.
//
// Started again are jobs whose workers were lost, hung or crashed (exit code 9), and those that failed with
// an internal error (1): a device, a network or a machine may have hiccuped. Not started again is what would
// end in the same way: a wrong configuration (2), environment (3) or data (4), memory that does not suffice
// (5, 6), a full or broken disk (7), divergence (8); nor a job that was asked to stop, or that has lost a front program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/exit_code.h"
#include "hftrain/base/json.h"
#include "hftrain/plan/worker_protocol.h"
#include "launcher/supervision/supervisor.h"

namespace hftrain::front {

bool is_worth_restarting(ExitCode code, bool stop_asked);

// Where another attempt goes on.
struct RestartPoint {
  std::string from;                  // checkpoint folder; empty: from the start
  std::vector<std::string> notices;  // why newer ones were passed over
};
// The newest of the checkpoints that this run has committed (`written`, oldest first) that verifies, else
// where the run itself began (`origin`, as RestartPoint::from). Checkpoints that lay in the folder before are
// left alone: the user may have gone back behind them.
RestartPoint find_restart_point(const std::vector<std::string>& written, const std::string& origin);

// The checkpoint that an event tells of: of rank 0, at its place in this run's folder. What lies elsewhere, whoever names
// it, is neither gone on from nor moved.
std::optional<std::string> committed_checkpoint(const plan::WorkerEvent& event,
                                                const std::string& output_dir);

// The attempts of one run: counts them and keeps their record.
class Attempts {
 public:
  Attempts(int64_t max_restarts, std::string origin);

  // An attempt has this number from now on.
  void begin(int number);
  // It ended before its ranks did, by an error of this program's own; where one has begun that is not over.
  void break_off(const Error& error);
  // An attempt has committed a checkpoint.
  void committed(const std::string& path) { written_.push_back(path); }
  // What the attempts have done so far is given up: the next one begins where the run itself began. Returns the
  // checkpoints that they committed.
  std::vector<std::string> begin_anew();
  // An attempt is over, after `seconds`. True when another is to be started; find_start() says where.
  bool restart_after(const launcher::JobResult& result, int number, double seconds);
  // Fills in resume_from(). Verifies checkpoints, which takes as long as they are large.
  void find_start();

  const std::string& resume_from() const { return from_; }
  // Whether the next attempt goes on from a checkpoint of this run's own, as if nothing had happened.
  bool goes_on() const { return !from_.empty() && from_ != origin_; }
  // Of training that earlier attempts have done for the present one.
  double inherited_seconds() const { return inherited_seconds_; }
  int64_t checkpoints() const { return static_cast<int64_t>(written_.size()); }
  // For the user: what happens now, or why no more happens; empty after an orderly end.
  const std::vector<std::string>& notices() const { return notices_; }
  // For summary.json: a list of {attempt, exit_code, reason, seconds, resumed_from, steps, rank, what}.
  const Json& record() const { return record_; }

 private:
  int64_t restarts_left_;
  int64_t restarts_ = 0;
  std::string from_;  // of the present attempt
  std::string origin_;
  double trained_before_;  // seconds, when the run began
  double inherited_seconds_ = 0;
  std::vector<std::string> written_;
  std::vector<std::string> notices_;
  Json record_ = Json::array();
  std::optional<int> begun_;  // of which nothing stands in the record
  double begun_at_ = 0;       // monotonic seconds
};

}  // namespace hftrain::front
