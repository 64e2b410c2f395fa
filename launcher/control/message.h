// What the agents of a job say to each other, as values. One JSON object per line on a connection of each
// follower to agent 0; message.cpp is the only place that knows how they are written. What is read is a value
// of the right types, with no text that could harm a terminal, but in what programs open and compare (paths, marks, the
// plan, peers); whether its numbers mean something here (ranks, signals) is for its reader to see.
//
//   follower                          agent 0
//   Hello                        ->
//                                <-   Welcome, or Refusal and the end of the connection (greeting.h)
//   Introduction                 ->
//                                <-   TryPeers
//   PeersTried                   ->
//                                <-   PrepareData
//   DataPrepared                 ->
//                                <-   LookForFolder
//   FolderSeen                   ->
//                                <-   TakePlan
//   PlanTaken                    ->
//                                <-   StartWorkers
//   WorkerStarted … WorkerSaid … WorkerPrinted … WorkersSeen … WorkerStacks … WorkerEnded, StopReceived
//                                <-   SignalWorkers, EndWorkers, AskForStacks
//   WorkersGone                  ->
//                                <-   TakePlan or StartWorkers again, or JobVerdict
//
// At any time AgentFailed, AgentNotice and StopReceived go up, Refusal and JobVerdict come down, and Heartbeat goes both
// ways.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/plan/job_agents.h"
#include "launcher/control/reach.h"
#include "launcher/supervision/worker_snapshot.h"

namespace hftrain::launcher {

// The one message that never changes, so that programs of different builds can still name each other.
struct Hello {
  std::string job_id;  // --rdzv_id
  int agent = 0;
  int agents = 1;  // as this agent was told
  std::string host;
  std::string version;
  std::string build;  // equal for equal programs
};
// The folder that weights are opened from, and what tells its files from others of their names (storage/weights_mark.h).
struct WeightsSeen {
  std::string folder;
  std::map<std::string, std::string> files;
};
struct Introduction {
  std::string address;                           // this agent's end of the connection, without the port
  std::string interface;                         // the network interface that has it
  int answer_port = 0;                           // where it answers before training (reach.h); 0: nowhere
  std::string answer;                            // what it says there
  double time = 0;                               // Unix seconds when it was sent
  std::map<std::string, std::string> arguments;  // key to value, without those that rightly differ
  plan::AgentFacts facts;
  WeightsSeen model, adapter;  // without files: there is none to be opened
};
struct Welcome {
  std::string host;
};
// The job cannot begin, or not with this agent; the same text and code everywhere.
struct Refusal {
  int exit_code = 0;
  std::string text;
};

// Whether these machines can be reached from the agent's.
struct TryPeers {
  std::vector<Peer> peers;
};
struct PeersTried {
  std::map<std::string, std::string> closed;  // why not, by the peer's agent
};
// Whether `path` holds `mark`, which agent 0 has just written there.
struct LookForFolder {
  std::string path;
  std::string mark;
};
struct FolderSeen {
  bool seen = false;
};
// Splits by name and where their prepared tokens are; the folder is named after the hash of the content.
struct PrepareData {
  std::map<std::string, std::string> paths;  // agent 0's
};
struct DataPrepared {
  std::map<std::string, std::string> paths;
};
struct TakePlan {
  Json plan;
  // Of the checkpoint that the plan goes on from, as node 0 has it; see PlanTaken.
  int64_t step = 0;
  std::string files;
  // Names of checkpoints that node 0 has passed over and moved aside. A node with an output folder of its own does so, too: the run
  // would take their places there as well.
  std::vector<std::string> aside;
};
struct PlanTaken {
  std::string path;  // empty where the checkpoint is another one than node 0's: then nothing was written
  // Of the checkpoint that the plan goes on from, as this node has it: its step and what its files say, nothing where
  // there is none.
  int64_t step = 0;
  std::string files;
};

struct StartWorkers {
  int attempt = 0;
  std::string master_address;
  int master_port = 0;
};
struct WorkerStarted {
  int rank = 0;
  int pid = -1;
};
struct WorkerSaid {
  std::string event;  // plan::encode_event
};
struct WorkerPrinted {
  int rank = 0;
  bool to_stderr = false;
  std::string text;
};
// What is to be seen of the agent's workers from outside, by rank, without their stacks: every second, and
// before an end.
struct WorkersSeen {
  std::map<std::string, WorkerSnapshot> snapshots;
};
// The stacks that have changed, by rank.
struct WorkerStacks {
  std::map<std::string, std::string> stacks;
};
struct WorkerEnded {
  int rank = 0;
  int signal = 0;
  int code = 0;
  uint64_t signals_sent = 0;
  bool killed_for_memory = false;
};
// All processes of the agent are gone and their pipes drained.
struct WorkersGone {
  std::map<std::string, std::vector<std::string>> last_lines;  // of ranks that failed, by rank
  std::string logs;                                            // the folder of this attempt
};
// A signal came to the agent that asks the job to stop.
struct StopReceived {
  int signal = 0;
};
struct AgentNotice {
  std::string text;
};
// The agent cannot go on; it waits to be told how the job ends.
struct AgentFailed {
  int exit_code = 1;
  std::vector<Diagnostic> mistakes;
};

struct SignalWorkers {
  int signal = 0;
};
// SIGTERM to the workers that are not leaving by themselves, or SIGKILL to all.
struct EndWorkers {
  bool kill = false;
};
// Has the workers that can write their stacks; they come with what is seen next.
struct AskForStacks {
  bool of_all = true;
};
struct JobVerdict {
  int exit_code = 0;
  std::string text;  // one line for the follower's terminal; empty: nothing to say
  Json summary;      // summary.json, for nodes that have an output folder of their own; null: there is none
};

struct Heartbeat {
  int64_t count = 0;
};

using Message =
    std::variant<Hello, Introduction, Welcome, Refusal, LookForFolder, FolderSeen, PrepareData, DataPrepared,
                 TakePlan, PlanTaken, StartWorkers, WorkerStarted, WorkerSaid, WorkerPrinted, WorkerEnded,
                 WorkersGone, StopReceived, AgentNotice, AgentFailed, SignalWorkers, EndWorkers, JobVerdict,
                 Heartbeat, WorkersSeen, AskForStacks, TryPeers, PeersTried, WorkerStacks>;

// One line, with its newline.
std::string encode_message(const Message& message);
// Nothing for a line that is no message of this protocol. Pure, for any bytes.
std::optional<Message> decode_message(std::string_view line);

// An agent's failure as an error of this process, and back.
AgentFailed failure_of(const Error& error);
Error error_of(const AgentFailed& failure);

}  // namespace hftrain::launcher
