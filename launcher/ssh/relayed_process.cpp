#include "launcher/ssh/relayed_process.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"

namespace hftrain::launcher {
namespace {

std::string find_program(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string& folder : split(environment.get_or("PATH", "/usr/local/bin:/usr/bin:/bin"), ':')) {
    const std::string path = (folder.empty() ? "." : folder) + '/' + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  throw Error(ExitCode::kEnvironment, "there is no program '" + name + "'")
      .where("PATH")
      .why("it is needed to start other machines")
      .hint("install it, or name another remote shell in HFTRAIN_SSH");
}

}  // namespace

RelayedProcess::RelayedProcess(std::vector<std::string> argv, Environment environment, Sink sink)
    : sink_(std::move(sink)) {
  argv.front() = find_program(argv.front(), environment);
  int ends[2];
  // A socket, not a pipe: a reader that is gone must not end this process by a signal.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw system_error(errno, "cannot make a socket pair", argv.front());
  input_.reset(ends[0]);
  const FileDescriptor childs_end(ends[1]);
  ChildSpec shell{std::move(argv), std::move(environment), {{childs_end.get(), STDIN_FILENO}}};
  shell.stops_with_us = false;  // machines that train on would take one that stands still for lost
  child_.emplace(shell);
  out_ = std::move(child_->standard_output());
  err_ = std::move(child_->standard_error());
}

void RelayedProcess::append_descriptors(std::vector<pollfd>& watched) const {
  if (status_) return;
  watched.push_back({child_->exit_descriptor(), POLLIN, 0});
  if (holds_output_) return;
  // poll() passes over the negative number of a closed one.
  watched.push_back({out_.get(), POLLIN, 0});
  watched.push_back({err_.get(), POLLIN, 0});
}

void RelayedProcess::read_ready() {
  if (status_) return;
  const std::optional<ExitStatus> ended = child_->reap();
  if (!holds_output_ || ended) {
    pass_on(out_, Stream::kOut, ended.has_value());
    pass_on(err_, Stream::kErr, ended.has_value());
  }
  status_ = ended;
}

void RelayedProcess::pass_on(FileDescriptor& from, Stream stream, bool all) {
  constexpr size_t kTail = 4096;
  char buffer[16 * 1024];
  for (size_t total = 0; from && (all || total < kReadBytes);) {
    const ssize_t size = ::read(from.get(), buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;
    if (size == 0) return from.reset();
    const std::string_view bytes(buffer, static_cast<size_t>(size));
    total += bytes.size();
    if (stream == Stream::kErr) {
      error_tail_.append(bytes);
      if (error_tail_.size() > kTail) error_tail_.erase(0, error_tail_.size() - kTail);
    }
    sink_(stream, bytes);
  }
}

void RelayedProcess::say(const std::string& text) {
  size_t sent = 0;
  while (input_ && sent < text.size()) {
    const ssize_t size = ::send(input_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno != EINTR) return;
    if (size > 0) sent += static_cast<size_t>(size);
  }
}

std::string RelayedProcess::last_words() const {
  constexpr size_t kLines = 3;
  std::vector<std::string> lines;
  for (const std::string& line : split(error_tail_, '\n')) {
    if (!trim(line).empty()) lines.push_back(printable(trim(line)));
  }
  if (lines.size() > kLines) lines.erase(lines.begin(), lines.end() - kLines);
  return join(lines, "; ");
}

}  // namespace hftrain::launcher
