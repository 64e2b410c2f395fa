// A stack of its own for a function that pauses, and goes on when it is resumed. All are of one thread of the host.
#pragma once

#include <setjmp.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hftrain::grid {

class Fiber {
 public:
  // Calls `body` anew, or goes on where it paused; returns when it pauses, ends or is given up.
  void resume(void (*body)());
  bool ended() const { return ended_; }
  // The next resume calls `body` anew. What is left on the stack is not destroyed.
  void forget() { ended_ = true, started_ = false; }

  uintptr_t stack() const { return reinterpret_cast<uintptr_t>(stack_.get()); }
  uintptr_t stack_end() const { return stack() + kStackBytes; }

  // Of the one that runs, from within it.
  static void pause();
  [[noreturn]] static void give_up();

 private:
  static constexpr size_t kStackBytes = size_t{64} << 10;
  [[noreturn]] static void main();
  [[noreturn]] void start();

  std::unique_ptr<char[]> stack_{new char[kStackBytes]};
  jmp_buf context_{};
  bool started_ = false, ended_ = true;
};

}  // namespace hftrain::grid
