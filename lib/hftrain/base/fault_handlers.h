// Signal handlers that say where a program crashed: a worker's write its stack onto its status page, so that
// whoever watches it can tell, and also where it hangs.
#pragma once

#include "hftrain/base/status_page.h"

namespace hftrain {

// Asks a process with these handlers to write the stack of its main thread: send it to that thread.
int stack_signal();

// Installs handlers for SIGSEGV, SIGBUS, SIGABRT, SIGFPE and SIGILL (a crash note and the stack of the thread
// that crashed; then the signal takes its usual course) and for stack_signal(). Once per process, from its
// main thread; `page` must live as long as the process. They use nothing but what may be used in handlers,
// except for the linker's tables of symbols: should those be locked, SIGALRM ends a crashed process two
// seconds later.
void install_fault_handlers(StatusPage& page);

// For a program that nobody watches: the same signals are told on standard error, with the stack, and take
// their usual course. A mapped file that cannot be read to its end is named, and ends the program with
// ExitCode::kData.
void install_crash_report();

// One line of a stack as the handlers write it ("program(mangled+0x1f)[0x55…]") for people: the function's
// name, the file it is in.
std::string readable_frame(const std::string& line);

}  // namespace hftrain
