#include "launcher/control/job_worker_set.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/whole_number.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::launcher {
namespace {

// A key of a message that is a rank.
int rank_of(const std::string& key) {
  return whole_number(key).value_or(-1);
}

}  // namespace

JobWorkerSet::JobWorkerSet(WorkerGroup& own, ControlHub& hub, Others others)
    : own_(own), hub_(hub), others_(std::move(others)) {
  records_.resize(own_.records().size() + others_.workers.size());
  for (const Others::Worker& worker : others_.workers) {
    WorkerRecord& record = records_.at(static_cast<size_t>(worker.rank));
    record.rank = worker.rank;
    record.device = worker.device;
    record.node = hub_.name_of(worker.agent);
    agent_of_[worker.rank] = worker.agent;
    agents_.insert(worker.agent);
  }
  copy_own_records();
}

void JobWorkerSet::copy_own_records() {
  for (const WorkerRecord& record : own_.records()) records_.at(static_cast<size_t>(record.rank)) = record;
}

void JobWorkerSet::start() {
  for (const int agent : agents_) {
    hub_.send(agent, StartWorkers{others_.attempt, others_.master_addresses.at(agent), others_.master_port});
  }
  own_.start();
  const double now = monotonic_seconds();
  for (const auto& [rank, agent] : agent_of_) records_[static_cast<size_t>(rank)].last_heard = now;
  copy_own_records();
}

void JobWorkerSet::append_descriptors(std::vector<pollfd>& watched) const {
  own_.append_descriptors(watched);
  hub_.append_descriptors(watched);
}

WorkerSet::Changes JobWorkerSet::read_ready(const std::vector<pollfd>& watched, OutputRouter& router) {
  const bool were_ready = all_ready();
  Changes changes = own_.read_ready(watched, router);
  copy_own_records();
  const ControlHub::News news = hub_.work();
  for (const std::string& text : news.notices) changes.notices.push_back(text);
  for (const ControlHub::News::Said& said : news.said) take(said.agent, said.message, changes);
  for (const ControlHub::News::Lost& lost : news.lost) take_lost(lost.agent, lost.why, changes);
  changes.became_ready = !were_ready && all_ready();
  return changes;
}

double JobWorkerSet::next_deadline() const {
  return std::min(own_.next_deadline(), hub_.next_deadline());
}

WorkerRecord* JobWorkerSet::record_of(int agent, int rank) {
  const auto owner = agent_of_.find(rank);
  return owner != agent_of_.end() && owner->second == agent ? &records_[static_cast<size_t>(rank)] : nullptr;
}

void JobWorkerSet::take(int agent, const Message& message, Changes& changes) {
  if (const auto* started = std::get_if<WorkerStarted>(&message)) {
    if (WorkerRecord* record = record_of(agent, started->rank)) record->pid = started->pid;
  } else if (const auto* said = std::get_if<WorkerSaid>(&message)) {
    auto event = plan::decode_event(said->event);
    WorkerRecord* record = event ? record_of(agent, event->rank) : nullptr;
    // Rank 0, which alone tells of checkpoints, is this agent's own.
    if (record == nullptr || event->kind == plan::WorkerEvent::Kind::kCheckpoint) return;
    make_printable(event->data, Lines::kMany);
    if (take_event(*record, *event, monotonic_seconds())) note_failure(*record, changes);
    changes.events.push_back(std::move(*event));
  } else if (const auto* printed = std::get_if<WorkerPrinted>(&message)) {
    if (record_of(agent, printed->rank) == nullptr) return;
    changes.lines.push_back({printed->rank, printed->to_stderr ? Stream::kErr : Stream::kOut, printed->text});
  } else if (const auto* seen = std::get_if<WorkersSeen>(&message)) {
    for (const auto& [rank, snapshot] : seen->snapshots) take_snapshot(agent, rank_of(rank), snapshot);
  } else if (const auto* changed = std::get_if<WorkerStacks>(&message)) {
    for (const auto& [rank, stack] : changed->stacks) {
      if (record_of(agent, rank_of(rank)) != nullptr) seen_[rank_of(rank)].status.stack = stack;
    }
  } else if (const auto* end = std::get_if<WorkerEnded>(&message)) {
    if (record_of(agent, end->rank) != nullptr) take_end(*end, changes);
  } else if (const auto* stop = std::get_if<StopReceived>(&message)) {
    if (is_stop_signal(stop->signal)) changes.stops.push_back({agent, stop->signal});
  } else if (const auto* notice = std::get_if<AgentNotice>(&message)) {
    changes.notices.push_back(hub_.name_of(agent) + ": " + notice->text);
  } else if (const auto* failure = std::get_if<AgentFailed>(&message)) {
    throw error_of(*failure).context("on " + hub_.name_of(agent));
  } else if (const auto* gone = std::get_if<WorkersGone>(&message)) {
    through_.insert(agent);
    for (const auto& [rank, lines] : gone->last_lines) {
      WorkerRecord* record = record_of(agent, rank_of(rank));
      if (record == nullptr) continue;
      record->last_lines = lines;
      record->logs = gone->logs + '/' + rank;
    }
  }
}

// Their stacks come apart, when they change.
void JobWorkerSet::take_snapshot(int agent, int rank, const WorkerSnapshot& snapshot) {
  if (record_of(agent, rank) == nullptr) return;
  WorkerSnapshot& kept = seen_[rank];
  std::string stack = std::move(kept.status.stack);
  kept = snapshot;
  kept.status.stack = std::move(stack);
}

void JobWorkerSet::take_end(const WorkerEnded& end, Changes& changes) {
  WorkerRecord& record = records_[static_cast<size_t>(end.rank)];
  record.status = ExitStatus{end.signal, end.code};
  // What the agent really sent decides: it may have been gone before it could obey.
  record.signals_sent = end.signals_sent;
  record.killed_for_memory = end.killed_for_memory;
  record.last_seen = seen_[end.rank].status;
  if (!record.ended_orderly()) note_failure(record, changes);
}

void JobWorkerSet::take_lost(int agent, const std::string& why, Changes& changes) {
  through_.insert(agent);
  for (const auto& [rank, owner] : agent_of_) {
    WorkerRecord& record = records_[static_cast<size_t>(rank)];
    if (owner != agent || record.status) continue;
    record.lost = why + " (" + hub_.address_of(agent) + ")";
    note_failure(record, changes);
  }
}

void JobWorkerSet::note_failure(WorkerRecord& record, Changes& changes) {
  if (record.ended_at == 0) record.ended_at = monotonic_seconds();
  changes.failed = true;
}

void JobWorkerSet::abandon_pipes(OutputRouter& router) {
  own_.abandon_pipes(router);
  through_ = agents_;
}

std::vector<WorkerSnapshot> JobWorkerSet::look() const {
  std::vector<WorkerSnapshot> snapshots(records_.size());
  const std::vector<WorkerSnapshot> own = own_.look();
  for (size_t i = 0; i < own.size(); ++i) snapshots.at(static_cast<size_t>(own_.records()[i].rank)) = own[i];
  for (const auto& [rank, snapshot] : seen_) snapshots.at(static_cast<size_t>(rank)) = snapshot;
  return snapshots;
}

void JobWorkerSet::ask_for_stacks() const {
  own_.ask_for_stacks();
  hub_.send_to_all(AskForStacks{});
}

void JobWorkerSet::signal_all(int signal) {
  own_.signal_all(signal);
  hub_.send_to_all(SignalWorkers{signal});
  copy_own_records();
}

void JobWorkerSet::terminate() {
  own_.terminate();
  hub_.send_to_all(EndWorkers{false});
  copy_own_records();
}

void JobWorkerSet::kill_all() {
  own_.kill_all();
  hub_.send_to_all(EndWorkers{true});
  copy_own_records();
}

bool JobWorkerSet::pipes_drained() const {
  return own_.pipes_drained() && through_ == agents_;
}

}  // namespace hftrain::launcher
