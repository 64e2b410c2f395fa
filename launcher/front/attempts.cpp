#include "launcher/front/attempts.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/file.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "launcher/front/run_record.h"

namespace hftrain::front {

bool is_worth_restarting(ExitCode code, bool stop_asked) {
  return !stop_asked && (code == ExitCode::kWorkerLost || code == ExitCode::kInternal);
}

RestartPoint find_restart_point(const std::vector<std::string>& written, const std::string& origin) {
  RestartPoint point;
  for (auto newest = written.rbegin(); newest != written.rend(); ++newest) {
    const storage::Verification verified = storage::verify_checkpoint(*newest);
    if (verified.ok) {
      point.from = *newest;
      return point;
    }
    point.notices.push_back("skipped " + *newest + ": " + verified.file + ' ' + verified.reason);
  }
  point.from = origin;
  return point;
}

std::optional<std::string> committed_checkpoint(const plan::WorkerEvent& event,
                                                const std::string& output_dir) {
  if (event.kind != plan::WorkerEvent::Kind::kCheckpoint || event.rank != 0) return std::nullopt;
  const std::string path = event.data.value("path", std::string());
  const bool own = path == storage::checkpoint_path(output_dir, event.data.value("step", int64_t{0}));
  return own ? std::optional(path) : std::nullopt;
}

namespace {

// As the first rank that reached the end counted them; null when none did.
Json steps_made(const launcher::JobResult& result) {
  for (const launcher::WorkerRecord& worker : result.workers) {
    const Json stats = stats_of(worker);
    if (stats.contains("steps") && stats["steps"].is_number())
      return static_cast<int64_t>(stats["steps"].get<double>());
  }
  return nullptr;
}

// That a checkpoint of ours tells of, of all runs that it is from; 0 where it tells of none.
double trained_seconds(const std::string& checkpoint) {
  const std::string path = checkpoint + "/hftrain_state.json";
  const std::optional<Json> state =
      !checkpoint.empty() && path_exists(path) ? try_parse_json(read_file(path)) : std::nullopt;
  const Json seconds = state ? state->value(Json::json_pointer("/state/update_seconds"), Json()) : Json();
  return seconds.is_number() ? seconds.get<double>() : 0;
}

}  // namespace

Attempts::Attempts(int64_t max_restarts, std::string origin)
    : restarts_left_(max_restarts),
      from_(std::move(origin)),
      origin_(from_),
      trained_before_(trained_seconds(from_)) {}

void Attempts::begin(int number) {
  begun_ = number;
  begun_at_ = monotonic_seconds();
}

void Attempts::break_off(const Error& error) {
  if (!begun_) return;
  record_.push_back({{"attempt", *begun_},
                     {"exit_code", static_cast<int>(error.code())},
                     {"reason", exit_code_name(error.code())},
                     {"seconds", monotonic_seconds() - begun_at_},
                     {"resumed_from", from_.empty() ? Json(nullptr) : Json(from_)},
                     {"steps", nullptr},
                     {"what", error.diagnostics().front().what}});
  begun_.reset();
}

bool Attempts::restart_after(const launcher::JobResult& result, int number, double seconds) {
  Json entry = {{"attempt", number},
                {"exit_code", static_cast<int>(result.code)},
                {"reason", result.reason},
                {"seconds", seconds},
                {"resumed_from", from_.empty() ? Json(nullptr) : Json(from_)},
                {"steps", steps_made(result)}};
  if (result.failure) {
    entry["rank"] = result.failure->rank;
    entry["what"] = result.failure->summary.what;
  }
  record_.push_back(std::move(entry));
  begun_.reset();
  notices_.clear();
  if (!is_worth_restarting(result.code, result.stop_asked)) return false;
  const auto& workers = result.workers;
  if (std::any_of(workers.begin(), workers.end(), [](const auto& w) { return !w.lost.empty(); })) {
    if (restarts_left_ > 0) notices_.push_back("not started again: a node is gone, and its ranks with it");
    return false;
  }
  if (restarts_left_ == 0) {
    if (restarts_ > 0)
      notices_.push_back(restarts_ == 1 ? "that was the one restart"
                                        : "that was the last of " + std::to_string(restarts_) + " restarts");
    return false;
  }
  --restarts_left_;
  ++restarts_;
  return true;
}

std::vector<std::string> Attempts::begin_anew() {
  from_ = origin_;
  inherited_seconds_ = 0;
  return std::exchange(written_, {});
}

void Attempts::find_start() {
  RestartPoint point = find_restart_point(written_, origin_);
  from_ = point.from;
  inherited_seconds_ = trained_seconds(from_) - trained_before_;
  notices_ = std::move(point.notices);
  notices_.push_back("starting again, " + (from_.empty() ? "from the beginning" : "from " + from_) +
                     " (restart " + std::to_string(restarts_) + " of " +
                     std::to_string(restarts_ + restarts_left_) + ")");
}

}  // namespace hftrain::front
