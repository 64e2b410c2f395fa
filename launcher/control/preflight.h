// What agent 0 looks at before a job begins: who is there, and whether all were started alike. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "launcher/control/message.h"

namespace hftrain::launcher {

// "node 1 (host-b)"
std::string name_of(const plan::AgentFacts& facts);

// Arguments as they are compared: without those that say where an agent is or how it shows itself.
std::map<std::string, std::string> comparable_arguments(const Json& arguments);

// Every argument in which an agent differs from agent 0, with both values and both nodes (kUsage); nothing
// when all are alike. `agents` are by number.
std::optional<Error> differing_arguments(const std::vector<Introduction>& agents);

// The model's weights, or the adapter's, where they are not on all agents what they are on agent 0, with the agents and the first file
// that differs (kData): each rank reads them itself, so the parts of a sharded model would be of several. Nothing when all are alike.
std::optional<Error> differing_weights(const std::vector<Introduction>& agents);

// One peer of each machine: its first agent that answers.
std::vector<Peer> peers_of(const std::vector<Introduction>& agents);

// By agent that tried: which agents it did not reach, and why.
using Unreached = std::map<int, std::map<int, std::string>>;
// The machines that cannot talk to each other, or only one way (kEnvironment); nothing when all can.
std::optional<Error> unreached_machines(const std::vector<Introduction>& agents, const Unreached& unreached);

// For people, one line per machine: "host-b, 10.0.0.2 on eth0: node 1, 8 cores, 60.0 GiB free memory, 2 GPUs (H200)".
std::vector<std::string> describe_agents(const std::vector<Introduction>& agents);

}  // namespace hftrain::launcher
