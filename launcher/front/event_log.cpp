#include "launcher/front/event_log.h"

#include <algorithm>
#include <filesystem>

#include "hftrain/base/clock.h"
#include "hftrain/base/log_level.h"

namespace hftrain::front {
namespace {

using Kind = plan::WorkerEvent::Kind;

constexpr int kMostWarnings = 1000;    // of an attempt
constexpr double kDrainSeconds = 4;    // less than agents wait for each other
constexpr double kFirstPause = 1;      // seconds between the first samples;
constexpr double kLaterPause = 0.001;  // of the time that has passed, later: a week has 7,400 of them

Json copied(const Json& data, std::initializer_list<const char*> names) {
  Json members = Json::object();
  for (const char* name : names) {
    if (data.contains(name)) members[name] = data[name];
  }
  return members;
}

}  // namespace

EventLog::EventLog(const std::string& path, int attempt)
    : file_({path}), attempt_(attempt), begun_(unix_seconds()) {}

void EventLog::add(const char* event, double time, Json members) {
  if (file_.is_behind()) return;
  members["event"] = event;
  members["time"] = time;
  file_.append(0, dump_json(members, -1) + '\n');
}

void EventLog::begin(int ranks, const std::string& resumed_from) {
  if (attempt_ > 0) file_.append(0, "\n");  // the last line of one that was killed may be torn
  add("start", begun_,
      {{"attempt", attempt_},
       {"ranks", ranks},
       {"resumed_from", resumed_from.empty() ? Json() : Json(resumed_from)}});
}

void EventLog::add_sample(const plan::WorkerEvent& step) {
  const double pause = std::max(kFirstPause, kLaterPause * (step.time - begun_));
  if (step.rank != 0 || !step.data.contains("memory_bytes") || step.time - sampled_ < pause) return;
  sampled_ = step.time;
  add("sample", step.time, copied(step.data, {"step", "tokens_per_second", "memory_bytes"}));
}

void EventLog::add_warning(const plan::WorkerEvent& message) {
  const int level = message.data.value("level", 0);
  if (level < static_cast<int>(LogLevel::kWarning) || ++warnings_ > kMostWarnings) return;
  add("warning", message.time, {{"rank", message.rank}, {"text", message.data.value("text", std::string())}});
}

void EventLog::on_event(const plan::WorkerEvent& event) {
  switch (event.kind) {
    case Kind::kStep:
      return add_sample(event);
    case Kind::kMessage:
      return add_warning(event);
    case Kind::kCheckpoint: {
      if (event.rank != 0) return;
      Json members = copied(event.data, {"step", "seconds", "stall_seconds"});
      members["folder"] = std::filesystem::path(event.data.value("path", std::string())).filename().string();
      return add("checkpoint", event.time, std::move(members));
    }
    case Kind::kFailed: {
      Json members = copied(event.data, {"what", "why", "step"});
      members["rank"] = event.rank;
      return add("failed", event.time, std::move(members));
    }
    default:
      return;
  }
}

void EventLog::on_notice(const std::string& text) {
  add("notice", unix_seconds(), {{"text", text}});
}

std::vector<std::string> EventLog::end(const launcher::JobResult& result, double seconds) {
  Json members = {{"attempt", attempt_},
                  {"exit_code", static_cast<int>(result.code)},
                  {"reason", result.reason},
                  {"seconds", seconds}};
  if (result.failure) {
    members["rank"] = result.failure->rank;
    members["what"] = result.failure->summary.what;
  }
  add("end", unix_seconds(), std::move(members));
  file_.drain(kDrainSeconds);
  return file_.take_notices();
}

}  // namespace hftrain::front
