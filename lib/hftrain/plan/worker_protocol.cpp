#include "hftrain/plan/worker_protocol.h"

#include <algorithm>
#include <array>
#include <cstdint>
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
constexpr std::array kIntegers = {"level", "exit_code", "asked_by", "asked_with"};
constexpr std::array kCounts = {"step", "done", "total"};
constexpr std::array kObjects = {"record", "stats"};

// One that can be read as a Number.
template <typename Number>
bool is_whole(const Json& value) {
  if (value.is_number_unsigned()) return std::in_range<Number>(value.get<uint64_t>());
  return value.is_number_integer() && std::in_range<Number>(value.get<int64_t>());
}
bool is_text(const Json& value) {
  return value.is_string();
}
bool is_object(const Json& value) {
  return value.is_object();
}

// Who hears of events reads their members as what they are; they may come from another machine.
bool has_its_kinds(const Json& data) {
  const auto all = [&data](const auto& names, bool (*is_kind)(const Json&)) {
    return std::all_of(names.begin(), names.end(), [&](const char* name) {
      const auto member = data.find(name);
      return member == data.end() || is_kind(*member);
    });
  };
  return all(kTexts, is_text) && all(kIntegers, is_whole<int>) && all(kCounts, is_whole<int64_t>) &&
         all(kObjects, is_object);
}

}  // namespace

std::string encode_event(const WorkerEvent& event) {
  Json line = {{"rank", event.rank}, {"time", event.time}, {"data", event.data}};
  for (const auto& [kind, name] : kKindNames) {
    if (kind == event.kind) line["event"] = name;
  }
  return dump_json(line, -1) + '\n';  // a loss may be infinite, which the parser's own dump calls null
}

std::optional<WorkerEvent> decode_event(std::string_view line) {
  const Json parsed = try_parse_json(line).value_or(Json());
  if (!parsed.is_object()) return std::nullopt;
  const auto member = [&](const char* name) { return parsed.contains(name) ? parsed[name] : Json(); };
  const Json rank = member("rank"), time = member("time"), data = member("data");
  if (!is_whole<int>(rank) || !time.is_number() || !data.is_object() || !has_its_kinds(data))
    return std::nullopt;
  for (const auto& [kind, name] : kKindNames) {
    if (member("event") == name) return WorkerEvent{kind, rank.get<int>(), time.get<double>(), data};
  }
  return std::nullopt;
}

}  // namespace hftrain::plan
