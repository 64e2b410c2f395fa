// A stand-in for `hftrain` on the machines of a host file: `hosted` is the real thing, the rest does what its
// first word says.
//
//   say WORD…        one line per word, and HFTRAIN_HOSTED and CUDA_VISIBLE_DEVICES
//   exit N WORD…     a line on standard error, then the exit code
//   meet             under mpirun or torchrun: what the first process announced, or "stopped" after a signal
//   talk N WORD…     N bytes on standard output, then as wait
//   wait WORD…       its process id in the file of WAIT_FILE, then until a signal, which becomes the exit
//   code
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <unistd.h>

#include "hftrain/base/environment.h"
#include "hftrain/base/error.h"
#include "launcher/environments/address_exchange.h"
#include "launcher/environments/find_membership.h"
#include "launcher/ssh/host_job.h"
#include "launcher/supervision/stop_signals.h"

namespace {

int say(int argc, char** argv) {
  for (int index = 2; index < argc; ++index) std::printf("<%s>\n", argv[index]);
  for (const char* name : {"HFTRAIN_HOSTED", "CUDA_VISIBLE_DEVICES"}) {
    const char* value = std::getenv(name);
    std::printf("%s=%s\n", name, value == nullptr ? "" : value);
  }
  return 0;
}

int meet() {
  using namespace hftrain::launcher;
  const hftrain::Environment environment = hftrain::Environment::of_process();
  const Membership membership = find_membership({}, environment);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::unique_ptr<AddressExchange> exchange = make_address_exchange(membership, program, environment);
  constexpr double kOnlyAHangTakesLonger = 60;
  StopSignals signals;
  ExchangeWait wait(kOnlyAHangTakesLonger);
  wait.wake = signals.descriptor();
  wait.on_wake = [&signals] {
    if (signals.next() != 0) throw hftrain::Error(hftrain::ExitCode::kTerminatedUnsaved, "stopped");
  };
  wait.notice_seconds = 0.5;
  wait.on_notice = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  std::string announcement = "10.0.0.1:4711/" + std::to_string(membership.agents);
  if (membership.leads()) {
    exchange->publish(announcement, wait);
  } else {
    announcement = exchange->await(wait);
  }
  // One write: the lines of several processes meet in one pipe.
  const std::string line =
      membership.started_by + " " + std::to_string(membership.agent) + ": " + announcement + "\n";
  return ::write(STDOUT_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : 1;
}

void exit_of_signal(int number) {
  ::_exit(100 + number);
}

int wait_for_signal(size_t bytes = 0) {
  for (const int number : {SIGTERM, SIGUSR1}) std::signal(number, exit_of_signal);  // while it talks
  const std::string text(bytes, 'x');
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGUSR1}) sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::ofstream(std::getenv("WAIT_FILE")) << ::getpid();
  std::printf("waiting\n");
  std::fflush(stdout);
  int number = 0;
  ::sigwait(&signals, &number);
  return 100 + number;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (word == "hosted" || word == "meet") {
    try {
      if (word == "meet") return meet();
      return static_cast<int>(hftrain::launcher::run_hosted(argv[0], hftrain::Environment::of_process(),
                                                            STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO));
    } catch (const hftrain::Error& error) {
      std::fprintf(stderr, "%s\n", error.render().c_str());
      return static_cast<int>(error.code());
    }
  }
  if (word == "say") return say(argc, argv);
  if (word == "wait") return wait_for_signal();
  if (word == "talk") return wait_for_signal(static_cast<size_t>(std::atoi(argv[2])));
  std::fprintf(stderr, "ending\n");
  return std::atoi(argv[2]);
}
