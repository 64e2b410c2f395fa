#include "launcher/front/stoppable_lines.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hftrain::front {
namespace {

constexpr size_t kLongestLine = size_t{64} << 20;  // bytes

Error too_long(const std::string& name) {
  return Error(ExitCode::kData, "a line is too long")
      .where(name)
      .why("it has more than " + std::to_string(kLongestLine) + " bytes, and no end so far")
      .hint("a text per line");
}

}  // namespace

Error stopped_by(int signal, const std::string& doing) {
  const bool key = signal == SIGINT;
  return Error(key ? ExitCode::kInterrupted : ExitCode::kTerminated, key ? "interrupted" : "terminated")
      .where(doing)
      .why(key ? "Ctrl-C" : std::string("SIG") + ::sigabbrev_np(signal))
      .hint("nothing was left to save; start it again");
}

// False when nothing has come, which only a call that does not wait finds.
bool StoppableLines::read_more(Wait wait) {
  char buffer[64 * 1024];
  while (true) {
    pollfd watched[2] = {{descriptor_, POLLIN, 0}, {stops_.descriptor(), POLLIN, 0}};
    ::poll(watched, 2, wait == Wait::kYes ? -1 : 0);
    if (const int signal = stops_.next(); signal != 0) throw stopped_by(signal, "waiting for " + name_);
    if (watched[0].revents == 0 && wait == Wait::kNo) return false;
    if (watched[0].revents == 0) continue;
    const ssize_t count = ::read(descriptor_, buffer, sizeof(buffer));
    if (count > 0) held_.append(buffer, static_cast<size_t>(count));
    if (count == 0) ended_ = true;
    if (count >= 0) return true;
    if (errno != EINTR && errno != EAGAIN)
      throw system_error(errno, "cannot read the prompts", name_, ExitCode::kData);
  }
}

bool StoppableLines::find_line(Wait wait) {
  held_.erase(0, begin_);
  begin_ = 0;
  size_t looked_at = 0;
  while (true) {
    end_ = held_.find('\n', looked_at);
    if (end_ != std::string::npos) return true;
    if (ended_) return !held_.empty();
    if (held_.size() > kLongestLine) throw too_long(name_);
    looked_at = held_.size();
    if (!read_more(wait)) return false;
  }
}

bool StoppableLines::has_one() {
  end_ = held_.find('\n', begin_);
  return end_ != std::string::npos || find_line(Wait::kNo);
}

std::optional<std::string> StoppableLines::next() {
  end_ = held_.find('\n', begin_);
  if (end_ == std::string::npos && !find_line(Wait::kYes)) return std::nullopt;
  std::string line = held_.substr(begin_, end_ == std::string::npos ? end_ : end_ - begin_);
  begin_ = end_ == std::string::npos ? held_.size() : end_ + 1;
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace hftrain::front
