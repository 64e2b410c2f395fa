// The workers of all agents, seen from agent 0: its own through their pipes, the others through what their
// agents say. An agent that is gone takes its workers with it (they die with their parent): their records say
// so. One record per rank of the job, by rank.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "launcher/control/hub.h"
#include "launcher/supervision/worker_group.h"
#include "launcher/supervision/worker_set.h"

namespace hftrain::launcher {

// What the other agents start.
struct Others {
  struct Worker {
    int rank = 0;
    int agent = 0;
    std::string device;
  };
  std::vector<Worker> workers;
  int attempt = 0;
  int master_port = 0;
  std::map<int, std::string> master_addresses;  // by agent: rank 0's machine as it reaches it
};

class JobWorkerSet : public WorkerSet {
 public:
  // References must outlive the object.
  JobWorkerSet(WorkerGroup& own, ControlHub& hub, Others others);

  void start() override;
  void append_descriptors(std::vector<pollfd>& watched) const override;
  // Throws an Error when an agent says that it cannot start or watch its workers.
  Changes read_ready(const std::vector<pollfd>& watched, OutputRouter& router) override;
  double next_deadline() const override;
  void abandon_pipes(OutputRouter& router) override;
  std::vector<WorkerSnapshot> look() const override;
  void ask_for_stacks() const override;
  void signal_all(int signal) override;
  void terminate() override;
  void kill_all() override;
  bool pipes_drained() const override;
  const std::vector<WorkerRecord>& records() const noexcept override { return records_; }

 private:
  void copy_own_records();
  void take(int agent, const Message& message, Changes& changes);
  void take_snapshot(int agent, int rank, const WorkerSnapshot& snapshot);
  void take_end(const WorkerEnded& end, Changes& changes);
  void take_lost(int agent, const std::string& why, Changes& changes);
  void note_failure(WorkerRecord& record, Changes& changes);
  WorkerRecord* record_of(int agent, int rank);

  WorkerGroup& own_;
  ControlHub& hub_;
  Others others_;
  std::vector<WorkerRecord> records_;
  std::map<int, WorkerSnapshot> seen_;  // of the others, by rank, as their agents last saw them
  std::map<int, int> agent_of_;         // rank to agent, of the others
  std::set<int> agents_;                // that have workers
  std::set<int> through_;               // of these, those that have nothing more to say
};

}  // namespace hftrain::launcher
