#include "hftrain/base/fault_handlers.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

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

// One line of /proc/self/maps, "from-to perms offset device inode   path", read without allocating.
class MapLine {
 public:
  // False when the line is longer than there is room for.
  bool add(char c) {
    if (size_ == text_.size()) return false;
    text_[size_++] = c;
    return true;
  }
  void clear() { size_ = 0; }
  bool holds(uint64_t address) const {
    size_t at = 0;
    const uint64_t from = hexadecimal(at);
    ++at;
    return address >= from && address < hexadecimal(at);
  }
  const char* path() const {
    const void* slash = std::memchr(text_.data(), '/', size_);
    return static_cast<const char*>(slash);
  }
  size_t path_size() const { return static_cast<size_t>(text_.data() + size_ - path()); }

 private:
  uint64_t hexadecimal(size_t& at) const {
    uint64_t value = 0;
    for (; at < size_; ++at) {
      const char c = text_[at];
      if (c >= '0' && c <= '9') {
        value = value * 16 + static_cast<uint64_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        value = value * 16 + static_cast<uint64_t>(c - 'a' + 10);
      } else {
        break;
      }
    }
    return value;
  }

  std::array<char, 2048> text_;
  size_t size_ = 0;
};

void note_mapped_file(uint64_t address) {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return;
  MapLine line;
  std::array<char, 1024> buffer;
  bool found = false;
  for (ssize_t count; !found && (count = ::read(maps, buffer.data(), buffer.size())) > 0;) {
    for (ssize_t i = 0; i < count && !found; ++i) {
      if (buffer[static_cast<size_t>(i)] != '\n') {
        line.add(buffer[static_cast<size_t>(i)]);
        continue;
      }
      found = line.holds(address);
      if (found && line.path() != nullptr) g_page->set_mapped_file(line.path(), line.path_size());
      line.clear();
    }
  }
  ::close(maps);
}

void on_crash(int signal, siginfo_t* info, void*) {
  if (g_crashing.test_and_set()) {  // another thread is at it, and its end ends all
    for (;;) ::pause();
  }
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(kSecondsToWriteCrash);
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const bool sent = info->si_code <= 0;  // by a process, not by the processor: there is no address
  g_page->set_crash(signal, info->si_code, sent ? 0 : address);
  if (signal == SIGBUS && !sent) note_mapped_file(address);
  write_stack();
  // SA_RESETHAND has put the default back: the process ends as if nobody had looked.
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
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

}  // namespace

int stack_signal() {
  return SIGRTMIN + 5;
}

void install_fault_handlers(StatusPage& page) {
  g_page = &page;
  std::array<void*, 1> first;
  ::backtrace(first.data(), 1);  // loads what it needs now: in a handler it must not
  provide_stack();
  struct sigaction crash {};
  crash.sa_sigaction = on_crash;
  crash.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
  sigemptyset(&crash.sa_mask);
  for (const int number : kFatalSignals) ::sigaction(number, &crash, nullptr);
  struct sigaction asked {};
  asked.sa_handler = on_stack_request;
  asked.sa_flags = SA_RESTART;
  sigemptyset(&asked.sa_mask);
  ::sigaction(stack_signal(), &asked, nullptr);
  page.set_answers();
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
