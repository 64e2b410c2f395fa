#include "launcher/process/watched_process.h"

#include <poll.h>
#include <unistd.h>

#include <fstream>

namespace hftrain::launcher {
namespace {

void take(FileDescriptor& pipe, std::string& text) {
  char buffer[4096];
  const ssize_t count = ::read(pipe.get(), buffer, sizeof buffer);
  if (count > 0) text.append(buffer, static_cast<size_t>(count));
  if (count == 0) pipe.reset();
}

}  // namespace

WatchedProcess::WatchedProcess(std::vector<std::string> argv, Environment environment)
    : child_({std::move(argv), std::move(environment), {}}) {}

bool WatchedProcess::read_more(int milliseconds) {
  pollfd ready[2] = {{child_.standard_output().get(), POLLIN, 0}, {child_.standard_error().get(), POLLIN, 0}};
  if (ready[0].fd < 0 && ready[1].fd < 0) return false;
  ::poll(ready, 2, milliseconds);
  if (ready[0].revents != 0) take(child_.standard_output(), out_);
  if (ready[1].revents != 0) take(child_.standard_error(), err_);
  return true;
}

bool WatchedProcess::wait_for(const std::string& text) {
  while (err_.find(text) == std::string::npos) {
    if (!read_more()) return false;
  }
  return true;
}

bool WatchedProcess::wait_until(const std::function<bool()>& seen) {
  while (!seen()) {
    if (!read_more(1)) return false;
  }
  return true;
}

int WatchedProcess::finish() {
  while (read_more()) {
  }
  const ExitStatus status = child_.wait();
  return status.signal != 0 ? 128 + status.signal : status.code;
}

std::vector<pid_t> WatchedProcess::children() const {
  const std::string id = std::to_string(child_.pid());
  std::ifstream list("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> pids;
  for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  return pids;
}

}  // namespace hftrain::launcher
