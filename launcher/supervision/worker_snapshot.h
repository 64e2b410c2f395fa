// What can be seen of a running worker from outside: its process, as the kernel tells of it, and its status
// page. Taken when a hang is suspected or a rank has failed.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/base/status_page.h"

namespace hftrain::launcher {

// From proc(5).
struct ProcessSnapshot {
  char state = '?';        // of the main thread: R, S, D, T, t, Z; '?' when it cannot be seen
  double cpu_seconds = 0;  // used so far by all threads
  std::string waits_in;    // kernel function it sleeps in, where the kernel tells

  bool runs() const { return state == 'R'; }
  bool stopped() const { return state == 'T'; }
  bool traced() const { return state == 't'; }
  bool waits_for_disk() const { return state == 'D'; }
};

struct WorkerSnapshot {
  ProcessSnapshot process;
  bool has_status = false;  // it has opened its page
  WorkStatus status;
};

// `root` is "" except in tests, where it stands before /proc.
ProcessSnapshot look_at_process(pid_t pid, const std::string& root = "");

// "stopped (state T)", "asleep in futex_wait_queue (state S)", …
std::string describe_process(const ProcessSnapshot& process);

// For error.json.
Json to_json_value(const WorkStatus& status);
Json to_json_value(const WorkerSnapshot& snapshot);

// The frames of a stack as a worker writes it, readable, without those of the handler that wrote it.
std::vector<std::string> stack_lines(const std::string& stack);

}  // namespace hftrain::launcher
