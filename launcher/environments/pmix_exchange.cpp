#include "launcher/environments/pmix_exchange.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "launcher/environments/pmix/exchange.h"
#include "launcher/process/child_process.h"

namespace hftrain::launcher {
namespace {

constexpr char kMet = '+';     // the first byte of the child's answer: the rest is what agent 0 announced
constexpr char kFailed = '-';  // the rest says why

std::string dl_problem() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason was given" : text;
}

// What the child inherits and does not need: an open descriptor of its own would keep a port or a pipe alive.
void close_all_but(int one, int other) {
  const auto [low, high] = std::minmax({static_cast<unsigned>(one), static_cast<unsigned>(other)});
  unsigned next = STDERR_FILENO + 1;
  for (const unsigned kept : {low, high}) {
    if (kept > next) ::close_range(next, kept - 1, 0);
    next = kept + 1;
  }
  ::close_range(next, ~0U, 0);
}

// mpirun sends stop signals to the front program and all that it has started; this child ends with it.
void ignore_stop_signals() {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU, SIGPIPE})
    ::signal(number, SIG_IGN);
}

void wait_for_end_of(int pipe) {
  pollfd ended{pipe, POLLIN, 0};
  while (::poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
}

// The child: one answer on `answers`, then nothing until the end of `stay`. It is a fork of a process in
// which no other thread holds a lock.
[[noreturn]] void speak_pmix(const std::string& plugin, const std::string& own, int answers, int stay) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ignore_stop_signals();
  close_all_but(answers, stay);
  // The rank's worker starts PMIx once more; with the default storage its data would be taken by then.
  ::setenv("PMIX_MCA_gds", "hash", 1);
  char text[AddressExchange::kLongestAnnouncement + 256] = {};
  void* library = ::dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto symbol = [&](const char* name) { return library == nullptr ? nullptr : ::dlsym(library, name); };
  const auto exchange =
      reinterpret_cast<hftrain_mpi_exchange_address_function>(symbol(HFTRAIN_MPI_EXCHANGE_ADDRESS));
  const auto end = reinterpret_cast<hftrain_mpi_end_exchange_function>(symbol(HFTRAIN_MPI_END_EXCHANGE));
  const bool usable = exchange != nullptr && end != nullptr;
  const bool met = usable && exchange(own.c_str(), text, sizeof(text)) == 0;
  const std::string answer = (met ? kMet : kFailed) + (usable ? std::string(text) : dl_problem());
  [[maybe_unused]] const ssize_t written = ::write(answers, answer.data(), answer.size());
  ::close(answers);
  if (met) {
    wait_for_end_of(stay);
    end();
  }
  ::_exit(0);
}

// All that the child says, or nothing when it has not ended in time.
std::optional<std::string> read_answer(int from, const ExchangeWait& wait) {
  ExchangeTurns turns(wait, "all processes that mpirun has started to meet through PMIx");
  std::string answer;
  char buffer[2048];
  while (turns.wait_for(from, POLLIN)) {
    const ssize_t size = ::read(from, buffer, sizeof(buffer));
    if (size == 0) return answer;
    if (size > 0) answer.append(buffer, static_cast<size_t>(size));
  }
  return std::nullopt;
}

Error no_meeting(const std::string& why) {
  return Error(ExitCode::kEnvironment, "the processes that mpirun started cannot meet")
      .where("PMIx")
      .why(why)
      .hint(
          "--master_addr HOST --master_port PORT lets them meet without PMIx; --standalone ignores variables "
          "that another mpirun has left");
}

}  // namespace

void PmixExchange::publish(const std::string& announcement, const ExchangeWait& wait) {
  meet(announcement, wait);
}

std::string PmixExchange::await(const ExchangeWait& wait) {
  return meet("", wait);
}

std::optional<std::string> PmixExchange::hear_child(int from, const ExchangeWait& wait) {
  try {
    return read_answer(from, wait);
  } catch (...) {  // a stop signal, say: the child would sit in its fence until the others have come
    end_child(0);
    throw;
  }
}

std::string PmixExchange::meet(const std::string& own, const ExchangeWait& wait) {
  if (!path_exists(plugin_))
    throw no_meeting("there is no " + plugin_ + ": hftrain was built without Open MPI");
  Pipe answers = make_pipe();
  Pipe stay = make_pipe();
  child_ = ::fork();
  if (child_ < 0) throw system_error(errno, "cannot start a process", "for PMIx");
  if (child_ == 0) speak_pmix(plugin_, own, answers.writing.get(), stay.reading.get());
  answers.writing.reset();
  stay_ = std::move(stay.writing);
  const std::optional<std::string> answer = hear_child(answers.reading.get(), wait);
  if (answer && !answer->empty() && answer->front() == kMet) return answer->substr(1);
  end_child(0);
  if (!answer)
    throw no_meeting("not all of them came within " + format_duration(wait.seconds) +
                     "; one may have ended or may not have been started");
  throw no_meeting(answer->empty() ? "the process that spoke PMIx died" : answer->substr(1));
}

void PmixExchange::end_child(double patience_seconds) noexcept {
  if (child_ <= 0) return;
  stay_.reset();
  try {
    const FileDescriptor process = open_process(child_);
    if (!answers_within(process.get(), POLLIN, patience_seconds)) ::kill(child_, SIGKILL);
  } catch (const Error&) {  // it cannot be waited for with a limit
    ::kill(child_, SIGKILL);
  }
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

}  // namespace hftrain::launcher
