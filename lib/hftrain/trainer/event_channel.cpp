#include "hftrain/trainer/event_channel.h"

#include <unistd.h>

#include <cerrno>

#include "hftrain/base/clock.h"

namespace hftrain::trainer {
namespace {

// Null: of what is done then, other events tell.
const char* name_of_moving(WorkPhase phase) {
  if (phase == WorkPhase::kLoading) return "load";
  if (phase == WorkPhase::kWaitingForData) return "data";
  return phase == WorkPhase::kSaving ? "save" : nullptr;
}

}  // namespace

void EventChannel::send(plan::WorkerEvent::Kind kind, Json data) {
  if (!fd_) return;
  const std::string line = plan::encode_event({kind, rank_, unix_seconds(), std::move(data)});
  const std::lock_guard lock(mutex_);
  for (std::string_view rest = line; !rest.empty() && !closed_;) {
    const ssize_t written = ::write(fd_.get(), rest.data(), rest.size());
    if (written > 0) rest.remove_prefix(static_cast<size_t>(written));
    if (written < 0 && errno != EINTR) closed_ = true;
  }
}

void EventChannel::message(LogLevel level, std::string_view text) {
  send(plan::WorkerEvent::Kind::kMessage, {{"level", static_cast<int>(level)}, {"text", text}});
}

void EventChannel::moved(uint64_t amount) {
  const char* const name = name_of_moving(phase());
  if (name == nullptr) return;
  const std::lock_guard lock(moved_.mutex);
  moved_.amount += amount;
  const double now = monotonic_seconds();
  if (now - moved_.told < 1) return;
  moved_.told = now;
  send(plan::WorkerEvent::Kind::kProgress, {{"phase", name}, {"done", moved_.amount}, {"total", 0}});
}

void EventChannel::set_phase(WorkPhase phase) {
  if (status_ == nullptr) return;
  status_->set_phase(phase);
  const std::lock_guard lock(moved_.mutex);
  moved_.amount = 0;
  moved_.told = monotonic_seconds();
}

WorkPhase EventChannel::phase() const {
  return status_ != nullptr ? status_->phase() : WorkPhase::kStarting;
}

void EventChannel::step(int64_t done, int64_t total, const std::function<Json()>& more) {
  if (status_ != nullptr) status_->set_step(done);
  const double now = monotonic_seconds();
  if (now - last_step_ < 0.1 && done != total) return;
  last_step_ = now;
  Json data = more ? more() : Json::object();
  data["step"] = done;
  data["total"] = total;
  send(plan::WorkerEvent::Kind::kStep, std::move(data));
}

}  // namespace hftrain::trainer
