#include "fiber.h"

#include <ucontext.h>

#include <cstdlib>

namespace hftrain::grid {
namespace {

Fiber* current = nullptr;
jmp_buf resumer;
void (*called)() = nullptr;

}  // namespace

// swapcontext would do, but for a system call each time.
void Fiber::pause() {
  if (_setjmp(current->context_) == 0) _longjmp(resumer, 1);
}

void Fiber::give_up() {
  _longjmp(resumer, 1);
}

void Fiber::main() {
  for (;;) {
    called();
    current->ended_ = true;
    pause();
  }
}

void Fiber::start() {
  ucontext_t context{};
  getcontext(&context);
  context.uc_stack.ss_sp = stack_.get();
  context.uc_stack.ss_size = kStackBytes;
  makecontext(&context, &Fiber::main, 0);
  started_ = true;
  setcontext(&context);
  std::abort();  // it does not return
}

void Fiber::resume(void (*body)()) {
  current = this;
  called = body;
  ended_ = false;
  if (_setjmp(resumer) == 0) {
    if (started_) _longjmp(context_, 1);
    start();
  }
}

}  // namespace hftrain::grid
