#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/machine/identity.h"
#include "launcher/control/addresses.h"
#include "launcher/process/patient_writer.h"
#include "launcher/ssh/host_job.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::launcher {
namespace {

// Lines of a descriptor; nothing at its end, which is also where a line is longer than any order.
class OrderLines {
 public:
  static constexpr size_t kLongest = size_t{16} << 20;

  explicit OrderLines(int fd) : fd_(fd) {}

  // Reads what is there, waiting for at least one byte. False at the end.
  bool read() {
    char buffer[16 * 1024];
    ssize_t size = 0;
    while ((size = ::read(fd_, buffer, sizeof(buffer))) < 0 && errno == EINTR) {
    }
    bytes_.erase(0, taken_);
    taken_ = 0;
    if (size <= 0 || bytes_.size() > kLongest) return false;
    bytes_.append(buffer, static_cast<size_t>(size));
    return true;
  }
  std::optional<std::string> next() {
    const size_t end = bytes_.find('\n', taken_);
    if (end == std::string::npos) return std::nullopt;
    std::string line = bytes_.substr(taken_, end - taken_);
    taken_ = end + 1;
    return line;
  }

 private:
  int fd_;
  std::string bytes_;
  size_t taken_ = 0;  // of bytes_, by lines that were given
};

Order read_order(OrderLines& lines) {
  std::optional<std::string> line;
  while (!(line = lines.next())) {
    if (!lines.read()) return parse_order("");
  }
  return parse_order(*line);
}

// What goes back over the connection. Nobody reads it when that is gone, which the end of the input tells.
class WayBack {
 public:
  WayBack(int out, int err) : out_(PatientWriter::to(out)), err_(PatientWriter::to(err)) {}

  void write(Stream stream, std::string_view bytes) { (stream == Stream::kOut ? out_ : err_).write(bytes); }
  bool is_behind() const { return std::max(out_.waiting(), err_.waiting()) >= kFarBehind; }
  bool drain(double seconds) { return out_.drain(seconds) && err_.drain(seconds); }

 private:
  static constexpr size_t kFarBehind = size_t{1} << 20;  // bytes
  PatientWriter out_, err_;
};

bool is_at_end(int input) {
  pollfd ready{input, POLLIN, 0};
  char byte = 0;
  return ::poll(&ready, 1, 0) > 0 && ::read(input, &byte, 1) <= 0;
}

std::optional<int> signal_in(const std::string& line) {
  constexpr std::string_view kWord = "signal ";
  if (!line.starts_with(kWord)) return std::nullopt;
  const auto number = whole_number(std::string_view(line).substr(kWord.size()));
  return number && *number > 0 && *number < NSIG ? number : std::nullopt;
}

}  // namespace

bool is_this_machine(const std::string& host) {
  if (host == "localhost") return true;
  const std::string name = machine::host_name();
  if (host == name || host == split(name, '.').front()) return true;
  std::string why;
  const std::vector<std::string> own = own_addresses();
  const std::vector<std::string> named = addresses_of(host, why);
  return std::find_first_of(named.begin(), named.end(), own.begin(), own.end()) != named.end();
}

ExitCode run_hosted(const std::string& program, const Environment& environment, int input, int out, int err) {
  std::signal(SIGPIPE, SIG_IGN);
  OrderLines lines(input);
  const Order order = read_order(lines);
  if (::chdir(order.directory.c_str()) != 0)
    throw Error(ExitCode::kEnvironment, "there is no folder " + order.directory + " on this machine")
        .why(std::strerror(errno))
        .hint("a run of several machines works in the same folder on all of them");
  Environment of_child = environment;
  for (const auto& [name, value] : order.environment) of_child.set(name, value);
  std::vector<std::string> argv = order.arguments;
  argv.insert(argv.begin(), program);
  // Whoever signals this process alone, as the machine's shutdown may, means the front program, which would
  // otherwise be killed with it.
  StopSignals signals;
  WayBack back(out, err);
  back.write(Stream::kOut, "hftrain hosted\n");
  RelayedProcess child(argv, of_child,
                       [&back](Stream stream, std::string_view bytes) { back.write(stream, bytes); });
  child.close_input();
  while (!child.status()) {
    const bool behind = back.is_behind();
    child.hold_output(behind);
    std::vector<pollfd> watched = {{input, POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    child.append_descriptors(watched);
    ::poll(watched.data(), watched.size(),
           behind ? static_cast<int>(RelayedProcess::kCatchUpSeconds * 1000) : -1);
    if ((watched[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !lines.read())
      return ExitCode::kWorkerLost;
    while (const std::optional<std::string> line = lines.next()) {
      if (const std::optional<int> signal = signal_in(*line)) child.send(*signal);
    }
    while (const int signal = signals.next()) child.send(signal);
    child.read_ready();
  }
  constexpr double kLookSeconds = 0.1;
  while (!back.drain(kLookSeconds)) {
    if (is_at_end(input) || signals.next() != 0) break;
  }
  const ExitStatus status = *child.status();
  return status.signal != 0 ? ExitCode::kWorkerLost : static_cast<ExitCode>(status.code);
}

}  // namespace hftrain::launcher
