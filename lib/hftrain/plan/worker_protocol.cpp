#include "hftrain/plan/worker_protocol.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hftrain::plan {
namespace {

using EventKind = WorkerEvent::Kind;
constexpr std::array<std::pair<EventKind, const char*>, 9> kKindNames = {{
    {EventKind::kReady, "ready"},
    {EventKind::kProgress, "progress"},
    {EventKind::kStep, "step"},
    {EventKind::kLog, "log"},
    {EventKind::kMetrics, "metrics"},
    {EventKind::kMessage, "message"},
    {EventKind::kCheckpoint, "checkpoint"},
    {EventKind::kFinished, "finished"},
    {EventKind::kFailed, "failed"},
}};

constexpr std::array kTexts = {"phase", "text", "path", "reason", "what", "where", "why", "hint"};
constexpr std::array kIntegers = {"level", "exit_code", "step"};
constexpr std::array kObjects = {"record", "stats"};

// Who hears of events reads their members as what they are; they may come from another machine.
bool has_its_kinds(const Json& data) {
  const auto all = [&data](const auto& names, bool (Json::*is_kind)() const noexcept) {
    return std::all_of(names.begin(), names.end(), [&](const char* name) {
      const auto member = data.find(name);
      return member == data.end() || ((*member).*is_kind)();
    });
  };
  return all(kTexts, &Json::is_string) && all(kIntegers, &Json::is_number_integer) &&
         all(kObjects, &Json::is_object);
}

}  // namespace

std::string encode_event(const WorkerEvent& event) {
  Json line = {{"rank", event.rank}, {"time", event.time}, {"data", event.data}};
  for (const auto& [kind, name] : kKindNames) {
    if (kind == event.kind) line["event"] = name;
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::optional<WorkerEvent> decode_event(std::string_view line) {
  const Json parsed = try_parse_json(line).value_or(Json());
  if (!parsed.is_object()) return std::nullopt;
  const auto member = [&](const char* name) { return parsed.contains(name) ? parsed[name] : Json(); };
  const Json rank = member("rank"), time = member("time"), data = member("data");
  if (!rank.is_number_integer() || !time.is_number() || !data.is_object() || !has_its_kinds(data))
    return std::nullopt;
  for (const auto& [kind, name] : kKindNames) {
    if (member("event") == name) return WorkerEvent{kind, rank.get<int>(), time.get<double>(), data};
  }
  return std::nullopt;
}

}  // namespace hftrain::plan
