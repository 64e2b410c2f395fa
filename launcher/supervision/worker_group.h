// The workers of one attempt that this agent starts: reads what they say on their pipes, passes signals on,
// reaps them. Keeps the record of each; decides nothing (that is policy.h) and waits for nothing (that is the
// supervisor's loop).
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "launcher/process/child_process.h"
#include "launcher/supervision/worker_set.h"

namespace hftrain::launcher {

// One worker as the environment wants it started.
struct WorkerSpec {
  int rank = 0;
  std::string device;             // for people
  std::vector<std::string> argv;  // complete but for the descriptors, which the group appends
  Environment environment;
  std::vector<int> cpus{};    // it is bound to; empty: those of this process
  bool serves_store = false;  // gets the rendezvous socket as --store-fd
};

std::vector<int> ranks_of(const std::vector<WorkerSpec>& workers);

class WorkerGroup : public WorkerSet {
 public:
  // Starts nothing yet. `listener` is the rendezvous socket, or -1; it must stay open until start() has
  // returned.
  WorkerGroup(std::vector<WorkerSpec> specs, int listener);

  void start() override;
  void append_descriptors(std::vector<pollfd>& watched) const override;
  // At most kReadBytes per descriptor.
  Changes read_ready(const std::vector<pollfd>& watched, OutputRouter& router) override;
  double next_deadline() const override;
  // Leaves the output of workers that run in their pipes, because whoever it is shown to must catch up first.
  void hold_output(bool hold) { holds_for_reader_ = hold; }
  void abandon_pipes(OutputRouter& router) override;
  std::vector<WorkerSnapshot> look() const override;
  void ask_for_stacks() const override;
  void signal_all(int signal) override;
  void terminate() override;
  void kill_all() override;
  bool pipes_drained() const override;
  const std::vector<WorkerRecord>& records() const noexcept override { return records_; }

  static constexpr size_t kReadBytes = 256 * 1024;
  static constexpr int kControlDescriptor = 3;
  static constexpr int kStoreDescriptor = 4;
  static constexpr int kStatusDescriptor = 5;

 private:
  struct Worker {
    std::unique_ptr<ChildProcess> process;
    FileDescriptor control;
    FileDescriptor out;
    FileDescriptor err;
    StatusPage status;
    std::string partial_event;
  };

  void start_one(size_t index);
  void signal_one(size_t index, int signal);
  void read_control(size_t index, Changes& changes, OutputRouter& router);
  void read_output(size_t index, Stream stream, OutputRouter& router);
  void take_event(size_t index, plan::WorkerEvent event, Changes& changes);
  void note_failure(size_t index, Changes& changes);

  std::vector<WorkerSpec> specs_;
  int listener_;
  std::vector<Worker> workers_;
  std::vector<WorkerRecord> records_;
  bool holds_output_ = false;      // the files must catch up first
  bool holds_for_reader_ = false;  // somebody else must
};

}  // namespace hftrain::launcher
