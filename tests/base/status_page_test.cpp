#include "hftrain/base/status_page.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hftrain/base/fault_handlers.h"
#include "support/catch.h"
#include "support/fork.h"

namespace hftrain {
namespace {

// Runs `work` in a child that writes to the page.
int in_child(StatusPage& page, void (*work)(StatusPage&)) {
  const pid_t child = testing::fork_child();
  if (child == 0) {
    work(page);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("what one process writes on a status page another one reads", "[process]") {
  StatusPage page = StatusPage::make();
  CHECK(page.read().step == -1);
  CHECK_FALSE(page.read().crash);
  in_child(page, [](StatusPage& own) {
    own.set_phase(WorkPhase::kSaving);
    own.set_step(12);
    own.begin_operation("all-reduce", 4096);
    own.begin_operation("a name that is far too long", 8);
  });
  const WorkStatus status = page.read();
  CHECK(status.phase == WorkPhase::kSaving);
  CHECK(status.step == 12);
  CHECK(status.operations == 2);
  CHECK(status.operation == "a name that is ");
  CHECK(status.operation_bytes == 8);
  CHECK(status.waits == 0);
  page.begin_wait();
  CHECK(page.read().waits == 1);
  page.end_wait();
  CHECK(page.read().waits == 0);
}

TEST_CASE("without a page writes go nowhere") {
  StatusPage none;
  none.set_step(3);
  none.begin_operation("barrier", 0);
  CHECK(none.read().step == -1);
  CHECK_FALSE(none);
}

TEST_CASE("a crash leaves signal, address and stack, and ends the process by the same signal", "[process]") {
  StatusPage page = StatusPage::make();
  const int status = in_child(page, [](StatusPage& own) {
    install_fault_handlers(own);
    volatile uintptr_t nowhere = 24;
    *reinterpret_cast<volatile int*>(nowhere) = 1;
  });
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
  const WorkStatus seen = page.read();
  REQUIRE(seen.crash);
  CHECK(seen.crash->signal == SIGSEGV);
  CHECK(seen.crash->address == 24);
  CHECK(seen.crash->mapped_file.empty());
  CHECK_FALSE(seen.stack.empty());
}

TEST_CASE("an overflow of the stack is told as well", "[process]") {
  StatusPage page = StatusPage::make();
  in_child(page, [](StatusPage& own) {
    install_fault_handlers(own);
    struct Deep {
      // NOLINTNEXTLINE(misc-no-recursion): it is to overflow
      static int down(volatile char* from, int64_t levels) {
        volatile char room[4096];
        room[0] = *from;
        return levels == 0 ? 0 : down(room, levels - 1) + room[0];
      }
    };
    volatile char start = 1;
    ::_exit(Deep::down(&start, int64_t{1} << 40));
  });
  REQUIRE(page.read().crash);
  CHECK(page.read().crash->signal == SIGSEGV);
}

TEST_CASE("a stack is written when it is asked for, and the process goes on", "[process]") {
  StatusPage page = StatusPage::make();
  const int status = in_child(page, [](StatusPage& own) {
    install_fault_handlers(own);
    ::raise(stack_signal());
    own.set_step(1);
  });
  CHECK(WIFEXITED(status));
  CHECK(page.answers());
  CHECK(page.read().step == 1);
  CHECK_FALSE(page.read().stack.empty());
}

TEST_CASE("frames are made readable") {
  CHECK(readable_frame("/usr/lib/libx.so(_ZN2at3addEi+0x1f)[0x7f00]") == "at::add(int) (libx.so)");
  CHECK(readable_frame("build/bin/worker(main+0x1f)[0x7f00]") == "main (worker)");
  CHECK(readable_frame("/bin/worker(+0x123)[0x7f00]") == "worker +0x123");
  CHECK(readable_frame("/bin/worker() [0x4004]") == "worker");
  CHECK(readable_frame("[0x4004]") == "[0x4004]");
}

}  // namespace hftrain
