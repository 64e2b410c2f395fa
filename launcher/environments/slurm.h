// Slurm's compact forms, as srun writes them into the environment of a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::launcher {

// Slurm itself has room for 65,533 machines.
inline constexpr size_t kMostNodes = 100'000;

// "gpu[01-03,7],login" -> gpu01, gpu02, gpu03, gpu7, login. A list that stands for more than `most` hosts, unbalanced
// brackets or a range that runs backwards give an empty one. Time and memory grow with `most`, not with the text alone.
std::vector<std::string> expand_node_list(std::string_view list, size_t most = kMostNodes);

// SLURM_STEP_TASKS_PER_NODE: "4(x2),3" -> 4, 4, 3. Empty when it is malformed or stands for more than `most` nodes.
std::vector<int> expand_tasks_per_node(std::string_view tasks, size_t most = kMostNodes);

// The port at which the agents of a step meet when the user names none: the same on every machine, and
// another for every step, so that two jobs of one machine do not collide. 20000 to 29999, below the range
// that the kernel hands out.
int port_of_step(int64_t job, int64_t step);

}  // namespace hftrain::launcher
