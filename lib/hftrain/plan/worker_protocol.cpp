#include "hftrain/plan/worker_protocol.h"

#include <array>
#include <utility>

namespace hftrain::plan {
namespace {

using Kind = WorkerEvent::Kind;
constexpr std::array<std::pair<Kind, const char*>, 8> kKindNames = {{
    {Kind::kReady, "ready"},
    {Kind::kProgress, "progress"},
    {Kind::kStep, "step"},
    {Kind::kLog, "log"},
    {Kind::kMessage, "message"},
    {Kind::kCheckpoint, "checkpoint"},
    {Kind::kFinished, "finished"},
    {Kind::kFailed, "failed"},
}};

}  // namespace

std::string encode_event(const WorkerEvent& event) {
  Json line = {{"rank", event.rank}, {"time", event.time}, {"data", event.data}};
  for (const auto& [kind, name] : kKindNames) {
    if (kind == event.kind) line["event"] = name;
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::optional<WorkerEvent> decode_event(std::string_view line) {
  const Json parsed = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("event") || !parsed["event"].is_string()) return std::nullopt;
  for (const auto& [kind, name] : kKindNames) {
    if (parsed["event"] != name) continue;
    return WorkerEvent{kind, parsed.value("rank", 0), parsed.value("time", 0.0),
                       parsed.value("data", Json::object())};
  }
  return std::nullopt;
}

}  // namespace hftrain::plan
