// Signals as a value. A handler only counts; the loop looks at safe points, where all ranks agree on what was
// seen.
#pragma once

#include <optional>

namespace hftrain::trainer {

// Why a run ends before its last step.
enum class StopSignal { kNone = 0, kTerminate = 1, kInterrupt = 2 };

class StopRequest {
 public:
  // Installs handlers for SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGXCPU (kTerminate) and SIGINT (kInterrupt), and ignores
  // SIGPIPE and SIGXFSZ. Call once per process, before any thread starts. A second wish ends the process at once without
  // saving, with exit code 10: the user has said so. `systemctl stop` and pkill signal this process and its
  // launcher, which passes that on, and a scheduler signals all when the launcher has long begun to stop for
  // time: what the parent sends and what others send count apart, so that each side's second is a second
  // wish. Signals of others within kOneWishSeconds of their first are one. SIGXCPU, which the kernel repeats, is none but a first.
  static constexpr int kOneWishSeconds = 2;
  static void install_handlers();
  // What this rank has seen so far.
  static StopSignal seen() noexcept;
  // The first to ask this rank, where that was not its launcher and the launcher has not asked either: signal 0 where nobody
  // has. The kernel is process 0.
  struct Stranger {
    int pid = 0, signal = 0;
  };
  static Stranger stranger() noexcept;
};

}  // namespace hftrain::trainer
