#include "hftrain/base/fault_handlers.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "hftrain/base/exit_code.h"
#include "hftrain/base/mapped_path.h"

namespace hftrain {
namespace {

constexpr int kMostFrames = 48;
constexpr unsigned kSecondsToWriteCrash = 2;
constexpr std::array kFatalSignals = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

// Signal handlers have nowhere else to get it from.
StatusPage* g_page = nullptr;
std::atomic_flag g_crashing = ATOMIC_FLAG_INIT;

void write_stack() {
  std::array<void*, kMostFrames> frames;
  const int count = ::backtrace(frames.data(), kMostFrames);
  g_page->begin_stack();
  ::backtrace_symbols_fd(frames.data(), count, g_page->descriptor());
  g_page->end_stack();
}

void on_stack_request(int) {
  const int saved = errno;
  write_stack();
  errno = saved;
}

void begin_crash() {
  if (g_crashing.test_and_set()) {  // another thread is at it, and its end ends all
    for (;;) ::pause();
  }
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(kSecondsToWriteCrash);
}

// SA_RESETHAND has put the default back: the process ends as if nobody had looked.
void end_by(int signal) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

void on_crash(int signal, siginfo_t* info, void*) {
  begin_crash();
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const bool sent = info->si_code <= 0;  // by a process, not by the processor: there is no address
  g_page->set_crash(signal, info->si_code, sent ? 0 : address);
  MappedPath path;
  if (signal == SIGBUS && !sent && path.find(address)) g_page->set_mapped_file(path.text(), path.size());
  write_stack();
  end_by(signal);
}

// A stack of its own for the handlers, so that an overflow of the usual one can be told.
void provide_stack() {
  constexpr size_t kBytes = 128 * 1024;
  static std::unique_ptr<char[]> memory(new char[kBytes]);
  stack_t stack{};
  stack.ss_sp = memory.get();
  stack.ss_size = kBytes;
  ::sigaltstack(&stack, nullptr);
}

void handle_crashes(void (*handler)(int, siginfo_t*, void*)) {
  std::array<void*, 1> first;
  ::backtrace(first.data(), 1);  // loads what it needs now: in a handler it must not
  provide_stack();
  struct sigaction crash {};
  crash.sa_sigaction = handler;
  crash.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
  sigemptyset(&crash.sa_mask);
  for (const int number : kFatalSignals) ::sigaction(number, &crash, nullptr);
}

void say(const char* text, size_t size) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, size);
}
void say(const char* text) {
  say(text, std::strlen(text));
}

void report_crash(int signal, siginfo_t* info, void*) {
  begin_crash();
  MappedPath path;
  const bool by_processor = info->si_code > 0;
  if (signal == SIGBUS && by_processor && path.find(reinterpret_cast<uint64_t>(info->si_addr))) {
    say("error: a file could not be read to its end\n  where: ");
    say(path.text(), path.size());
    say("\n  why: it became shorter while it was read, or its disk failed (bus error)"
        "\n  try: see whether something else writes to it; the system log (dmesg) tells of disks\n");
    ::_exit(static_cast<int>(ExitCode::kData));
  }
  say("error: internal: the program crashed: ");
  say(::sigdescr_np(signal));
  say("\n");
  std::array<void*, kMostFrames> frames;
  ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), kMostFrames), STDERR_FILENO);
  end_by(signal);
}

}  // namespace

int stack_signal() {
  return SIGRTMIN + 5;
}

void install_fault_handlers(StatusPage& page) {
  g_page = &page;
  handle_crashes(on_crash);
  struct sigaction asked {};
  asked.sa_handler = on_stack_request;
  asked.sa_flags = SA_RESTART;
  sigemptyset(&asked.sa_mask);
  ::sigaction(stack_signal(), &asked, nullptr);
  page.set_answers();
}

void install_crash_report() {
  handle_crashes(report_crash);
}

std::string readable_frame(const std::string& line) {
  const size_t open = line.find('('), close = line.find(')', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return line;
  const size_t slash = line.rfind('/', open);
  const std::string file = line.substr(slash == std::string::npos ? 0 : slash + 1,
                                       open - (slash == std::string::npos ? 0 : slash + 1));
  const std::string place = line.substr(open + 1, close - open - 1);
  const size_t plus = place.rfind('+');
  const std::string mangled = place.substr(0, plus);
  if (mangled.empty()) return file + (plus == std::string::npos ? "" : " " + place.substr(plus));
  int status = -1;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  return (status == 0 ? std::string(name.get()) : mangled) + " (" + file + ")";
}

}  // namespace hftrain
