#include "launcher/front/stoppable_lines.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace hftrain::front {

Error stopped_by(int signal, const std::string& doing) {
  const bool key = signal == SIGINT;
  return Error(key ? ExitCode::kInterrupted : ExitCode::kTerminated, key ? "interrupted" : "terminated")
      .where(doing)
      .why(key ? "Ctrl-C" : std::string("SIG") + ::sigabbrev_np(signal))
      .hint("nothing was left to save; start it again");
}

bool StoppableLines::read_more(const std::string& name) {
  char buffer[64 * 1024];
  while (true) {
    pollfd watched[2] = {{descriptor_, POLLIN, 0}, {stops_.descriptor(), POLLIN, 0}};
    ::poll(watched, 2, -1);
    if (const int signal = stops_.next(); signal != 0) throw stopped_by(signal, "waiting for " + name);
    if (watched[0].revents == 0) continue;
    const ssize_t count = ::read(descriptor_, buffer, sizeof(buffer));
    if (count > 0) held_.append(buffer, static_cast<size_t>(count));
    if (count >= 0) return count > 0;
    if (errno != EINTR && errno != EAGAIN)
      throw system_error(errno, "cannot read the prompts", name, ExitCode::kData);
  }
}

std::optional<std::string> StoppableLines::next(const std::string& name) {
  size_t end = 0, looked_at = 0;
  while ((end = held_.find('\n', looked_at)) == std::string::npos && !ended_) {
    looked_at = held_.size();
    ended_ = !read_more(name);
  }
  if (end == std::string::npos && held_.empty()) return std::nullopt;
  std::string line = held_.substr(0, end);
  held_.erase(0, end == std::string::npos ? end : end + 1);
  return line;
}

}  // namespace hftrain::front
