// How many descriptors (files, connections, pipes) this process may have. Agent 0 has one for every agent.
#pragma once

#include <cstdint>
#include <string>

namespace hftrain::launcher {

// Raises this process's limit, which its children inherit, to what the system allows it. Some programs walk
// through all numbers that are allowed, so no further than a million.
void raise_descriptor_limit();

// "room for 1024 descriptors (ulimit -n)"
std::string describe_descriptor_limit();

// Throws an Error (kEnvironment) when agent 0 of a job of so many agents, with so many ranks of its own,
// would not get along with the limit.
void check_descriptor_limit(int agents, int own_ranks);

}  // namespace hftrain::launcher
