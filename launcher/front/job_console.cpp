#include "launcher/front/job_console.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/json_member.h"
#include "hftrain/reporting/event_text.h"
#include "launcher/front/attempts.h"
#include "launcher/front/rank_words.h"
#include "launcher/front/run_console.h"

namespace hftrain::front {
namespace {

using Kind = plan::WorkerEvent::Kind;

constexpr size_t kFarBehind = size_t{32} << 10;  // bytes
constexpr double kPatience = 0.1;                // seconds, once, until it is known that nobody reads

}  // namespace

JobConsole::JobConsole(reporting::Console& console, const PatientStream& terminal, const plan::RunPlan& plan,
                       launcher::OutputFilter words, double started)
    : console_(console), terminal_(terminal), plan_(plan), words_(std::move(words)), started_(started) {}

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

void JobConsole::on_event(const plan::WorkerEvent& event) {
  if (event.kind == Kind::kReady) on_ready(event);
  if (auto path = committed_checkpoint(event, plan_.output_dir)) checkpoints_.push_back(std::move(*path));
  const char* name = name_for_people(plan_, event);
  if (name == nullptr || !words_.shows(event.rank, launcher::Stream::kErr) || !can_show()) return;
  if (event.kind != Kind::kMessage || event.rank == 0) return console_.event(name, event.data, event.time);
  Json data = event.data;
  data["text"] = prefix(event.rank) + json_text(data, "text");
  console_.event(name, data, event.time);
}

void JobConsole::on_output(const launcher::OutputLine& line) {
  if (can_show()) console_.result(prefix(line.rank) + line.text);
}

void JobConsole::on_notice(const std::string& text) {
  if (can_show()) show_notice(text, console_);
}

}  // namespace hftrain::front
