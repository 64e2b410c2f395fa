#include "pipeline/watched_run.h"

#include <poll.h>
#include <unistd.h>

#include <fstream>

namespace hftrain::app {

WatchedRun::WatchedRun(std::vector<std::string> argv, Environment environment)
    : process_({std::move(argv), std::move(environment), {}}) {}

bool WatchedRun::read_more() {
  pollfd ready[2] = {{process_.standard_output().get(), POLLIN, 0},
                     {process_.standard_error().get(), POLLIN, 0}};
  if (ready[0].fd < 0 && ready[1].fd < 0) return false;
  ::poll(ready, 2, -1);
  char buffer[4096];
  if (ready[0].revents != 0 && ::read(ready[0].fd, buffer, sizeof buffer) == 0)
    process_.standard_output().reset();
  if (ready[1].revents != 0) {
    const ssize_t count = ::read(ready[1].fd, buffer, sizeof buffer);
    if (count > 0) said_.append(buffer, static_cast<size_t>(count));
    if (count == 0) process_.standard_error().reset();
  }
  return true;
}

bool WatchedRun::wait_for(const std::string& text) {
  while (said_.find(text) == std::string::npos) {
    if (!read_more()) return false;
  }
  return true;
}

int WatchedRun::finish() {
  while (read_more()) {
  }
  pollfd ended{process_.exit_descriptor(), POLLIN, 0};
  ::poll(&ended, 1, -1);
  const launcher::ExitStatus status = process_.reap().value();
  return status.signal != 0 ? 128 + status.signal : status.code;
}

std::vector<pid_t> WatchedRun::children() const {
  const std::string id = std::to_string(process_.pid());
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> pids;
  for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  return pids;
}

}  // namespace hftrain::app
