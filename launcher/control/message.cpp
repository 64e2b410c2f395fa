#include "launcher/control/message.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hftrain/base/printable.h"
#include "launcher/supervision/verdict.h"

namespace hftrain {
namespace {

// The library would turn any number into a member of an enum, or into none at all.
template <typename Enum>
Enum member_of(const Json& json, Enum last) {
  const int number = json.get<int>();
  if (number >= 0 && number <= static_cast<int>(last)) return static_cast<Enum>(number);
  throw Json::out_of_range::create(406, json.dump() + " is out of range", &json);
}

}  // namespace

// Outside of it, where the library finds them.
static void from_json(const Json& json, Diagnostic::Severity& severity) {
  severity = member_of(json, Diagnostic::Severity::kError);
}
static void from_json(const Json& json, WorkPhase& phase) {
  phase = member_of(json, WorkPhase::kLeaving);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Diagnostic, severity, what, where, why, hint)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CrashNote, signal, code, address, mapped_file)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkStatus, phase, step, operations, operation, operation_bytes, waits,
                                   stack, crash)

}  // namespace hftrain

namespace hftrain::launcher {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProcessSnapshot, state, cpu_seconds, waits_in)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerSnapshot, process, has_status, status)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Peer, agent, address, port, answer)

namespace {

// Its place in Message is an alternative's number; its name is what goes over the wire.
constexpr const char* kNames[] = {
    "hello",          "introduction",   "welcome",      "refusal",      "look_for_folder", "folder_seen",
    "prepare_data",   "data_prepared",  "take_plan",    "plan_taken",   "start_workers",   "worker_started",
    "worker_said",    "worker_printed", "worker_ended", "workers_gone", "stop_received",   "agent_notice",
    "agent_failed",   "signal_workers", "end_workers",  "job_verdict",  "heartbeat",       "workers_seen",
    "ask_for_stacks", "try_peers",      "peers_tried",  "worker_stacks"};
static_assert(std::size(kNames) == std::variant_size_v<Message>);

constexpr const char* kNameMember = "message";

// They carry what programs compare or open, not what people read.
constexpr std::array<std::string_view, 6> kForPrograms = {"look_for_folder", "prepare_data", "data_prepared",
                                                          "take_plan",       "plan_taken",   "try_peers"};
// They say who somebody is, in a line.
constexpr std::array<std::string_view, 3> kOfOneLine = {"hello", "introduction", "welcome"};

template <size_t kSize>
bool is_among(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Hello, job_id, agent, agents, host, version, build)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WeightsSeen, folder, files)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Introduction, address, interface, answer_port, answer, time, arguments,
                                   facts, model, adapter)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Welcome, host)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Refusal, exit_code, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LookForFolder, path, mark)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FolderSeen, seen)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PrepareData, paths)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DataPrepared, paths)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TakePlan, plan, step, files, aside)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanTaken, path, step, files)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StartWorkers, attempt, master_address, master_port)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerStarted, rank, pid)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerSaid, event)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerPrinted, rank, to_stderr, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerEnded, rank, signal, code, signals_sent, killed_for_memory)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkersGone, last_lines, logs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StopReceived, signal)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentNotice, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentFailed, exit_code, mistakes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SignalWorkers, signal)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EndWorkers, kill)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobVerdict, exit_code, text, summary)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Heartbeat, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkersSeen, snapshots)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AskForStacks, of_all)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TryPeers, peers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PeersTried, closed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerStacks, stacks)

namespace {

template <size_t... kIndices>
std::optional<Message> decode_named(const std::string& name, const Json& json,
                                    std::index_sequence<kIndices...>) {
  std::optional<Message> message;
  const auto try_one = [&]<size_t kIndex>(std::integral_constant<size_t, kIndex>) {
    if (name == kNames[kIndex]) message = json.get<std::variant_alternative_t<kIndex, Message>>();
  };
  (try_one(std::integral_constant<size_t, kIndices>{}), ...);
  return message;
}

}  // namespace

std::string encode_message(const Message& message) {
  Json json = std::visit([](const auto& value) { return Json(value); }, message);
  json[kNameMember] = kNames[message.index()];
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::optional<Message> decode_message(std::string_view line) {
  Json json = try_parse_json(line).value_or(Json());
  if (!json.is_object() || !json.contains(kNameMember) || !json[kNameMember].is_string()) return std::nullopt;
  const std::string name = json[kNameMember].get<std::string>();
  if (!is_among(kForPrograms, name))
    make_printable(json, is_among(kOfOneLine, name) ? Lines::kOne : Lines::kMany);
  try {
    return decode_named(name, json, std::make_index_sequence<std::variant_size_v<Message>>{});
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

AgentFailed failure_of(const Error& error) {
  return {static_cast<int>(error.code()), error.diagnostics()};
}

Error error_of(const AgentFailed& failure) {
  const ExitCode code = failure_code(failure.exit_code);
  std::vector<Diagnostic> mistakes = failure.mistakes;
  std::erase_if(mistakes, [](const Diagnostic& mistake) { return mistake.what.empty(); });
  if (!mistakes.empty()) return Error(code, std::move(mistakes));
  return Error(code, "it failed and gave no reason")
      .where("another node")
      .why("what it sent holds no message")
      .hint("see its own terminal or log");
}

}  // namespace hftrain::launcher
