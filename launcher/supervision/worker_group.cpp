#include "launcher/supervision/worker_group.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/fault_handlers.h"

namespace hftrain::launcher {
namespace {

// No event is nearly as long: a worker that writes so much on one line is out of its mind, and what it says
// is passed over.
constexpr size_t kLongestEvent = size_t{16} << 20;

// Hands each piece to `take` until the descriptor is empty, closed, or kReadBytes were read. Closes it at its
// end.
template <typename Take>
void read_some(FileDescriptor& from, Take take) {
  char buffer[64 * 1024];
  for (size_t total = 0; total < WorkerGroup::kReadBytes;) {
    const ssize_t count = ::read(from.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      from.reset();
      return;
    }
    take(std::string_view(buffer, static_cast<size_t>(count)));
    total += static_cast<size_t>(count);
  }
}

bool is_readable(const std::vector<pollfd>& watched, const FileDescriptor& descriptor) {
  return descriptor && std::any_of(watched.begin(), watched.end(), [&](const pollfd& entry) {
           return entry.fd == descriptor.get() && entry.revents != 0;
         });
}

}  // namespace

std::vector<int> ranks_of(const std::vector<WorkerSpec>& workers) {
  std::vector<int> ranks;
  for (const WorkerSpec& worker : workers) ranks.push_back(worker.rank);
  return ranks;
}

WorkerGroup::WorkerGroup(std::vector<WorkerSpec> specs, int listener)
    : specs_(std::move(specs)), listener_(listener), workers_(specs_.size()), records_(specs_.size()) {
  for (size_t i = 0; i < specs_.size(); ++i) {
    records_[i].rank = specs_[i].rank;
    records_[i].device = specs_[i].device;
  }
}

void WorkerGroup::start() {
  for (size_t i = 0; i < specs_.size(); ++i) {
    try {
      start_one(i);
    } catch (Error& error) {
      workers_.clear();  // kills and reaps those that run
      throw error.context("starting rank " + std::to_string(specs_[i].rank));
    }
  }
}

void WorkerGroup::start_one(size_t index) {
  const WorkerSpec& spec = specs_[index];
  Pipe control = make_pipe();
  ChildSpec child{spec.argv, spec.environment, {{control.writing.get(), kControlDescriptor}}};
  child.cpus = spec.cpus;
  StatusPage status = StatusPage::make();
  child.descriptors.push_back({status.descriptor(), kStatusDescriptor});
  child.argv.insert(child.argv.end(), {"--control-fd", std::to_string(kControlDescriptor), "--status-fd",
                                       std::to_string(kStatusDescriptor)});
  if (spec.serves_store) {
    child.descriptors.push_back({listener_, kStoreDescriptor});
    child.argv.insert(child.argv.end(), {"--store-fd", std::to_string(kStoreDescriptor)});
  }
  Worker& worker = workers_[index];
  worker.process = std::make_unique<ChildProcess>(child);
  worker.control = std::move(control.reading);
  worker.status = std::move(status);
  worker.out = std::move(worker.process->standard_output());
  worker.err = std::move(worker.process->standard_error());
  records_[index].pid = worker.process->pid();
  records_[index].last_heard = monotonic_seconds();
}

void WorkerGroup::append_descriptors(std::vector<pollfd>& watched) const {
  const bool holds = holds_output_ || holds_for_reader_;
  for (size_t i = 0; i < workers_.size(); ++i) {
    const Worker& worker = workers_[i];
    if (worker.control) watched.push_back({worker.control.get(), POLLIN, 0});
    for (const FileDescriptor* pipe : {&worker.out, &worker.err}) {
      // Of one that has ended a pipe holds no more than the kernel keeps.
      if (*pipe && (!holds || records_[i].status)) watched.push_back({pipe->get(), POLLIN, 0});
    }
    if (!records_[i].status) watched.push_back({workers_[i].process->exit_descriptor(), POLLIN, 0});
  }
}

WorkerGroup::Changes WorkerGroup::read_ready(const std::vector<pollfd>& watched, OutputRouter& router) {
  Changes changes;
  const bool were_ready = all_ready();
  holds_output_ = router.is_behind();
  for (size_t i = 0; i < workers_.size(); ++i) {
    // Events first: a worker reports its failure before it writes it to its log, where it need not be shown
    // again.
    if (is_readable(watched, workers_[i].control) ||
        (workers_[i].control && is_readable(watched, workers_[i].err))) {
      read_control(i, changes, router);
    }
    if (records_[i].failed) router.mute(records_[i].rank);
    if (is_readable(watched, workers_[i].out)) read_output(i, Stream::kOut, router);
    if (is_readable(watched, workers_[i].err)) read_output(i, Stream::kErr, router);
  }
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (records_[i].status) continue;
    records_[i].status = workers_[i].process->reap();
    if (!records_[i].status) continue;
    records_[i].last_seen = workers_[i].status.read();
    while (workers_[i].control) {  // what it said last decides how its end is judged
      const size_t before = changes.events.size();
      read_control(i, changes, router);
      if (changes.events.size() == before) break;
    }
    if (!records_[i].ended_orderly()) note_failure(i, changes);
  }
  changes.became_ready = !were_ready && all_ready();
  return changes;
}

double WorkerGroup::next_deadline() const {
  constexpr double kCatchUpSeconds = 0.05;
  return holds_output_ || holds_for_reader_ ? monotonic_seconds() + kCatchUpSeconds
                                            : WorkerSet::next_deadline();
}

void WorkerGroup::read_output(size_t index, Stream stream, OutputRouter& router) {
  FileDescriptor& pipe = stream == Stream::kOut ? workers_[index].out : workers_[index].err;
  const int rank = specs_[index].rank;
  read_some(pipe, [&](std::string_view bytes) { router.write(rank, stream, bytes); });
  if (!pipe) router.finish(rank, stream);
}

void WorkerGroup::read_control(size_t index, Changes& changes, OutputRouter& router) {
  std::string& partial = workers_[index].partial_event;
  read_some(workers_[index].control, [&](std::string_view bytes) {
    partial.append(bytes);
    size_t start = 0;
    for (size_t end; (end = partial.find('\n', start)) != std::string::npos; start = end + 1) {
      const std::string_view line(partial.data() + start, end - start);
      auto event = plan::decode_event(line);
      if (!event) continue;
      event->rank = records_[index].rank;  // known by its pipe
      router.hear(*event);
      take_event(index, std::move(*event), changes);
    }
    partial.erase(0, start);
    if (partial.size() > kLongestEvent) partial.clear();
  });
}

void WorkerGroup::take_event(size_t index, plan::WorkerEvent event, Changes& changes) {
  WorkerRecord& record = records_[index];
  if (launcher::take_event(record, event, monotonic_seconds())) note_failure(index, changes);
  changes.events.push_back(std::move(event));
}

void WorkerGroup::note_failure(size_t index, Changes& changes) {
  if (records_[index].ended_at == 0) records_[index].ended_at = monotonic_seconds();
  changes.failed = true;
}

void WorkerGroup::abandon_pipes(OutputRouter& router) {
  for (size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].control.reset();
    if (workers_[i].out) router.finish(specs_[i].rank, Stream::kOut);
    if (workers_[i].err) router.finish(specs_[i].rank, Stream::kErr);
    workers_[i].out.reset();
    workers_[i].err.reset();
  }
}

std::vector<WorkerSnapshot> WorkerGroup::look() const {
  std::vector<WorkerSnapshot> snapshots(workers_.size());
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (records_[i].status) {
      snapshots[i].status = records_[i].last_seen;
      continue;
    }
    snapshots[i].process = look_at_process(records_[i].pid);
    snapshots[i].has_status = workers_[i].status.answers();
    snapshots[i].status = workers_[i].status.read();
  }
  return snapshots;
}

void WorkerGroup::ask_for_stacks() const {
  for (size_t i = 0; i < workers_.size(); ++i) {
    // Not before its handler is there: the signal would end it.
    if (records_[i].status || !workers_[i].status.answers()) continue;
    ::syscall(SYS_tgkill, records_[i].pid, records_[i].pid, stack_signal());
  }
}

void WorkerGroup::signal_all(int signal) {
  for (size_t i = 0; i < workers_.size(); ++i) signal_one(i, signal);
}

void WorkerGroup::signal_one(size_t index, int signal) {
  if (records_[index].status) return;
  workers_[index].process->send(signal);
  records_[index].signals_sent |= uint64_t{1} << signal;
}

void WorkerGroup::terminate() {
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (!records_[i].failed && !records_[i].finished) signal_one(i, SIGTERM);
  }
}

void WorkerGroup::kill_all() {
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (records_[i].status) continue;
    workers_[i].process->kill_group();
    records_[i].signals_sent |= uint64_t{1} << SIGKILL;
  }
}

bool WorkerGroup::pipes_drained() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [](const Worker& w) { return !w.control && !w.out && !w.err; });
}

}  // namespace hftrain::launcher
