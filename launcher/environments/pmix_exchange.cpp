#include "launcher/environments/pmix_exchange.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "launcher/child_process.h"
#include "launcher/environments/pmix/exchange.h"

namespace hftrain::launcher {
namespace {

constexpr char kMet = '+';     // the first byte of the child's answer: the rest is what agent 0 announced
constexpr char kFailed = '-';  // the rest says why

std::string dl_problem() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason was given" : text;
}

// The child: one answer on `answers`, then the end. It is a fork of a process with one thread.
[[noreturn]] void speak_pmix(const std::string& plugin, const std::string& own, int answers) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The rank's worker starts PMIx once more; with the default storage its data would be taken by then.
  ::setenv("PMIX_MCA_gds", "hash", 1);
  char text[AddressExchange::kLongestAnnouncement + 256] = {};
  std::string answer;
  void* library = ::dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* exchange = library == nullptr ? nullptr
                                      : reinterpret_cast<hftrain_mpi_exchange_address_function>(
                                            ::dlsym(library, HFTRAIN_MPI_EXCHANGE_ADDRESS));
  if (exchange == nullptr) {
    answer = kFailed + dl_problem();
  } else {
    const int status = exchange(own.c_str(), text, sizeof(text));
    answer = (status == 0 ? kMet : kFailed) + std::string(text);
  }
  [[maybe_unused]] const ssize_t written = ::write(answers, answer.data(), answer.size());
  ::_exit(0);
}

// All that the child says, or nothing when it has not ended by the deadline.
std::optional<std::string> read_answer(int from, double deadline) {
  std::string answer;
  char buffer[2048];
  for (;;) {
    const double left = std::max(0.0, deadline - monotonic_seconds());
    pollfd ready{from, POLLIN, 0};
    const int seen = ::poll(&ready, 1, static_cast<int>(std::min(std::ceil(left * 1000), 3.6e6)));
    if (seen < 0 && errno == EINTR) continue;
    if (seen == 0 && monotonic_seconds() >= deadline) return std::nullopt;
    const ssize_t size = ::read(from, buffer, sizeof(buffer));
    if (size == 0) return answer;
    if (size > 0) answer.append(buffer, static_cast<size_t>(size));
  }
}

Error no_meeting(const std::string& why) {
  return Error(ExitCode::kEnvironment, "the processes that mpirun started cannot meet")
      .where("PMIx")
      .why(why)
      .hint("--master_addr HOST --master_port PORT lets them meet without PMIx");
}

}  // namespace

void PmixExchange::publish(const std::string& announcement, double timeout_seconds) {
  meet(announcement, timeout_seconds);
}

std::string PmixExchange::await(double timeout_seconds) {
  return meet("", timeout_seconds);
}

std::string PmixExchange::meet(const std::string& own, double timeout_seconds) {
  if (!path_exists(plugin_))
    throw no_meeting("there is no " + plugin_ + ": hftrain was built without Open MPI");
  Pipe answers = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) throw system_error(errno, "cannot start a process", "for PMIx");
  if (child == 0) speak_pmix(plugin_, own, answers.writing.get());
  answers.writing.reset();
  const std::optional<std::string> answer =
      read_answer(answers.reading.get(), monotonic_seconds() + timeout_seconds);
  if (!answer) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!answer)
    throw no_meeting("not all of them came within " + format_duration(timeout_seconds) +
                     "; one may have ended or may not have been started");
  if (answer->empty()) throw no_meeting("the process that spoke PMIx died");
  if (answer->front() == kFailed) throw no_meeting(answer->substr(1));
  return answer->substr(1);
}

}  // namespace hftrain::launcher
