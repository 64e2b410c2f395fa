#include "launcher/front/stoppable_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "launcher/front/stoppable_lines.h"

namespace hftrain::front {

std::streamsize StoppableOutput::xsputn(const char* text, std::streamsize size) {
  held_.append(text, static_cast<size_t>(size));
  return size;
}

StoppableOutput::int_type StoppableOutput::overflow(int_type byte) {
  if (!traits_type::eq_int_type(byte, traits_type::eof())) held_ += traits_type::to_char_type(byte);
  return traits_type::not_eof(byte);
}

int StoppableOutput::sync() {
  size_t written = 0;
  while (written < held_.size()) {
    pollfd watched[2] = {{descriptor_, POLLOUT, 0}, {stops_.descriptor(), POLLIN, 0}};
    ::poll(watched, 2, -1);
    if (const int signal = stops_.next(); signal != 0) throw stopped_by(signal, "writing to standard output");
    if (watched[0].revents == 0) continue;
    // So much fits into a pipe that takes anything.
    const size_t part = std::min<size_t>(held_.size() - written, PIPE_BUF);
    const ssize_t count = ::write(descriptor_, held_.data() + written, part);
    if (count > 0) written += static_cast<size_t>(count);
    if (count < 0 && errno != EINTR && errno != EAGAIN)
      throw system_error(errno, "cannot write", "standard output", ExitCode::kDisk);
  }
  held_.clear();
  return 0;
}

}  // namespace hftrain::front
