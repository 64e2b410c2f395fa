#include "launcher/front/job_console.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/log_level.h"
#include "launcher/front/attempts.h"
#include "launcher/front/run_console.h"

namespace hftrain::front {
namespace {

using Kind = plan::WorkerEvent::Kind;

constexpr size_t kFarBehind = size_t{32} << 10;  // bytes
constexpr double kPatience = 0.1;                // seconds, once, until it is known that nobody reads

// The console's word for what only rank 0 tells; null for the rest.
const char* console_name(Kind kind) {
  switch (kind) {
    case Kind::kProgress:
      return "progress";
    case Kind::kStep:
      return "step";
    case Kind::kLog:
      return "log";
    case Kind::kMetrics:
      return "metrics";
    case Kind::kCheckpoint:
      return "checkpoint";
    default:
      return nullptr;
  }
}

}  // namespace

JobConsole::JobConsole(reporting::Console& console, const PatientStream& terminal, const plan::RunPlan& plan,
                       double started)
    : console_(console), terminal_(terminal), plan_(plan), started_(started) {}

std::string JobConsole::prefix(int rank) const {
  return rank == 0 ? "" : "[rank " + std::to_string(rank) + "] ";
}

void JobConsole::on_ready(const plan::WorkerEvent& event) {
  ready_.insert(event.rank);
  if (ready_.size() < static_cast<size_t>(plan_.ranks.world_size)) return;
  const auto seconds = event.data.find("seconds");
  const bool told = seconds != event.data.end() && seconds->is_number();
  const double loading = told ? seconds->get<double>() : 0.0;
  spawn_seconds_ = std::max(0.0, monotonic_seconds() - started_ - loading);
}

bool JobConsole::can_show() {
  // Ranks may say much in one go, which takes a moment to be written.
  if (!left_out_ && terminal_.waiting() >= kFarBehind) terminal_.wait_for_reader(kPatience);
  if (terminal_.waiting() >= (left_out_ ? 1 : kFarBehind)) {
    left_out_ = true;
    return false;
  }
  if (left_out_) {
    left_out_ = false;
    console_.line(
        "the terminal took no text for a while; what it missed is in hftrain/log.jsonl and hftrain/ranks");
  }
  return true;
}

bool JobConsole::wants(const plan::WorkerEvent& message) const {
  const auto& ranks = plan_.ranks.ranks;
  const auto rank = std::find_if(ranks.begin(), ranks.end(),
                                 [&](const plan::RankPlan& each) { return each.rank == message.rank; });
  if (rank == ranks.end()) return true;
  const LogLevel threshold = log_level_named(plan_.logging.level_of(*rank), LogLevel::kInfo);
  return message.data.value("level", static_cast<int>(LogLevel::kInfo)) >= static_cast<int>(threshold);
}

void JobConsole::on_event(const plan::WorkerEvent& event) {
  if (event.kind == Kind::kReady) on_ready(event);
  if (auto path = committed_checkpoint(event, plan_.output_dir)) checkpoints_.push_back(std::move(*path));
  if (event.kind == Kind::kMessage && wants(event)) {
    Json data = event.data;
    if (data.contains("text") && data["text"].is_string()) {
      data["text"] = prefix(event.rank) + data["text"].get<std::string>();
    }
    if (can_show()) console_.event("message", data, event.time);
  }
  const char* name = event.rank == 0 ? console_name(event.kind) : nullptr;
  if (name != nullptr && can_show()) console_.event(name, event.data, event.time);
}

void JobConsole::on_output(const launcher::OutputLine& line) {
  if (can_show()) console_.result(prefix(line.rank) + line.text);
}

void JobConsole::on_notice(const std::string& text) {
  if (can_show()) show_notice(text, console_);
}

}  // namespace hftrain::front
