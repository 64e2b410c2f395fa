// A worker for tests of the launcher: no LibTorch, does what its words say, one after the other, then exits
// with 0.
//
//   ready, step:N, log          events on the control descriptor
//   eval, checkpoint:PATH       the same: progress of an evaluation, a committed checkpoint
//   phase:N, operation:NAME     what its status page says: a WorkPhase, a collective operation begun
//   answer                      from now on it writes its stack when asked, and when it crashes
//   stop-self                   stops as by SIGSTOP
//   bad-access                  writes where there is no memory
//   bad-file:PATH               reads a mapped file that has become shorter
//   busy                        computes for ever
//   sleep:MILLISECONDS          between two words
//   await-stopped               waits until another worker of the job is stopped
//   finish:CODE                 reports an orderly end and exits with CODE
//   fail:CODE                   reports a failure and exits with CODE
//   fail-aloud:CODE             the same, and writes it to stderr as well
//   exit:CODE, signal:N         leaves without a word
//   ignore-stops                ignores SIGTERM, SIGUSR1, SIGUSR2 and SIGINT
//   save-on-stop:CODE           a first signal means "saved" on stderr and finish:CODE, a second exit 10
//   print:TEXT, partial:TEXT    TEXT on stdout, with and without a newline
//   error:TEXT                  TEXT on stderr
//   flood:BYTES                 that many bytes in lines on stderr
//   descriptors                 the numbers of its open descriptors on stdout
//   variable:NAME               its value on stdout
//   close-control               closes the control descriptor
//   garbage                     something that is no event on the control descriptor
//   child                       starts a process in its group that holds its pipes open and never ends
//   stray                       the same in a session of its own; "stray PID" on stdout
//   hang                        waits for ever
//   steps:MILLISECONDS          the same, with an update as often as that
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "hftrain/base/clock.h"
#include "hftrain/base/fault_handlers.h"
#include "hftrain/plan/worker_protocol.h"

namespace {

using hftrain::Json;
using Kind = hftrain::plan::WorkerEvent::Kind;

std::atomic<int> g_signals_seen{0};

struct Worker {
  int control = -1;
  int stop_code = -1;
  hftrain::StatusPage status;

  void send(Kind kind, Json data) const {
    write_all(control, hftrain::plan::encode_event({kind, 0, hftrain::unix_seconds(), std::move(data)}));
  }
  static void write_all(int fd, const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      const ssize_t count = ::write(fd, text.data() + at, text.size() - at);
      if (count <= 0) return;
      at += static_cast<size_t>(count);
    }
  }
  [[noreturn]] void finish(int code) const {
    send(Kind::kFinished, {{"exit_code", code}, {"reason", "as told"}, {"stats", Json::object()}});
    ::_exit(code);
  }
  // `milliseconds` between two updates; 0: none.
  [[noreturn]] void wait_for_ever(int milliseconds = 0) const {
    sigset_t none;
    sigemptyset(&none);
    for (int step = 1;; ++step) {
      if (milliseconds == 0) {
        ::sigsuspend(&none);
      } else {
        const timespec pause{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
        ::ppoll(nullptr, 0, &pause, &none);  // lets in what save-on-stop blocks otherwise
        send(Kind::kStep, {{"step", step}});
      }
      if (stop_code >= 0 && g_signals_seen > 0) {
        write_all(STDERR_FILENO, "saved\n");
        finish(stop_code);
      }
    }
  }
};

void set_handlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  for (const int number : {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGINT}) ::sigaction(number, &action, nullptr);
}

void start_child() {
  if (::fork() != 0) return;
  for (;;) ::pause();
}

// Returns once the other process has left the group.
void start_stray() {
  int ready[2];
  if (::pipe(ready) != 0) return;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    ::close(ready[0]);
    ::close(ready[1]);
    for (;;) ::pause();
  }
  ::close(ready[1]);
  char nothing;
  [[maybe_unused]] const ssize_t end = ::read(ready[0], &nothing, 1);
  Worker::write_all(STDOUT_FILENO, "stray " + std::to_string(child) + '\n');
}

void list_descriptors() {
  std::string line = "descriptors";
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    char target[16] = {};
    // Not the one that reads this folder.
    [[maybe_unused]] const ssize_t size = ::readlink(entry.path().c_str(), target, sizeof(target) - 1);
    if (std::strncmp(target, "/proc/", 6) != 0) line += ' ' + entry.path().filename().string();
  }
  Worker::write_all(STDOUT_FILENO, line + '\n');
}

void read_shortened_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (::ftruncate(file, 4096) != 0) return;
  void* memory = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  if (::ftruncate(file, 0) != 0) return;
  static_cast<void>(*static_cast<volatile char*>(memory));
}

void sleep_milliseconds(int milliseconds) {
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  ::nanosleep(&time, nullptr);
}

bool another_is_stopped() {
  const std::string parent = "/proc/" + std::to_string(::getppid());
  std::ifstream children(parent + "/task/" + std::to_string(::getppid()) + "/children");
  for (pid_t pid = 0; children >> pid;) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string id, name, state;
    file >> id >> name >> state;
    if (state == "T") return true;
  }
  return false;
}

// What a worker does to its process and its status page.
void obey_about_itself(Worker& worker, const std::string& verb, const std::string& value) {
  const int number = std::atoi(value.c_str());
  if (verb == "phase") worker.status.set_phase(static_cast<hftrain::WorkPhase>(number));
  if (verb == "operation") worker.status.begin_operation(value.c_str(), 1000);
  if (verb == "answer") hftrain::install_fault_handlers(worker.status);
  if (verb == "stop-self") ::raise(SIGSTOP);
  if (verb == "bad-access") {
    const volatile uintptr_t nowhere = 8;
    *reinterpret_cast<volatile int*>(nowhere) = 1;
  }
  if (verb == "bad-file") read_shortened_file(value);
  if (verb == "busy") {
    for (volatile bool always = true; always;) {
    }
  }
  if (verb == "sleep") sleep_milliseconds(number);
  if (verb == "await-stopped") {
    while (!another_is_stopped()) sleep_milliseconds(5);
  }
}

void obey(Worker& worker, const std::string& word) {
  const size_t colon = word.find(':');
  const std::string verb = word.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : word.substr(colon + 1);
  const int number = std::atoi(value.c_str());
  if (verb == "ready") worker.send(Kind::kReady, Json::object());
  obey_about_itself(worker, verb, value);
  if (verb == "eval") worker.send(Kind::kProgress, {{"phase", "eval"}, {"done", 1}, {"total", 2}});
  if (verb == "checkpoint") worker.send(Kind::kCheckpoint, {{"step", 1}, {"path", value}, {"seconds", 0.1}});
  if (verb == "step") worker.send(Kind::kStep, {{"step", number}});
  if (verb == "log") worker.send(Kind::kLog, {{"record", {{"loss", 1.5}}}});
  if (verb == "finish") worker.finish(number);
  if (verb == "fail" || verb == "fail-aloud") {
    worker.send(Kind::kFailed, {{"exit_code", number},
                                {"what", "it broke"},
                                {"where", "here"},
                                {"why", "old"},
                                {"hint", "buy a new one"},
                                {"step", 3}});
    if (verb == "fail-aloud") Worker::write_all(STDERR_FILENO, "error: it broke\n  more\n");
    ::_exit(number);
  }
  if (verb == "exit") ::_exit(number);
  if (verb == "signal") ::raise(number);
  if (verb == "ignore-stops") set_handlers(SIG_IGN);
  if (verb == "save-on-stop") {
    worker.stop_code = number;
    set_handlers([](int) {
      if (++g_signals_seen > 1) ::_exit(10);
    });
    // Taken only while waiting, so that none is lost between two words.
    sigset_t stops;
    sigemptyset(&stops);
    for (const int stop : {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGINT}) sigaddset(&stops, stop);
    ::sigprocmask(SIG_BLOCK, &stops, nullptr);
  }
  if (verb == "print") Worker::write_all(STDOUT_FILENO, value + '\n');
  if (verb == "partial") Worker::write_all(STDOUT_FILENO, value);
  if (verb == "error") Worker::write_all(STDERR_FILENO, value + '\n');
  if (verb == "flood") {
    for (int written = 0; written < number; written += 100) {
      Worker::write_all(STDERR_FILENO, std::string(99, 'x') + '\n');
    }
  }
  if (verb == "descriptors") list_descriptors();
  if (verb == "variable") Worker::write_all(STDOUT_FILENO, std::string(std::getenv(value.c_str())) + '\n');
  if (verb == "close-control") ::close(worker.control);
  if (verb == "garbage") Worker::write_all(worker.control, "{\"event\": 7}\nnot an event\n");
  if (verb == "child") start_child();
  if (verb == "stray") start_stray();
  if (verb == "hang") worker.wait_for_ever();
  if (verb == "steps") worker.wait_for_ever(std::atoi(value.c_str()));
}

}  // namespace

int main(int argc, char** argv) {
  Worker worker;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--control-fd") {
      worker.control = std::atoi(argv[++i]);
    } else if (argument == "--status-fd") {
      worker.status = hftrain::StatusPage::open(hftrain::FileDescriptor(std::atoi(argv[++i])));
    } else if (argument == "--store-fd") {
      ++i;
    } else {
      words.push_back(argument);
    }
  }
  for (const std::string& word : words) obey(worker, word);
  return 0;
}
