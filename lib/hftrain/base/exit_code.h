// The exit codes every hftrain program may end with. Scripts and schedulers rely on the numbers.
#pragma once

namespace hftrain {

enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,
  kUsage = 2,        // usage or configuration
  kEnvironment = 3,  // no GPU where one is wanted, driver, library, port
  kData = 4,         // data or model files missing, unreadable or inconsistent
  kDeviceMemory = 5,
  kHostMemory = 6,
  kDisk = 7,  // disk full or write error; earlier checkpoints intact
  kDiverged = 8,
  kWorkerLost = 9,          // a worker died or hung
  kTerminatedUnsaved = 10,  // terminated before a checkpoint could be committed
  kInterrupted = 130,       // Ctrl-C, state saved
  kTerminated = 143,        // another signal that asks for a stop (SIGTERM, SIGUSR1, …), state saved
};

// The short name used in reports and error records, e.g. "worker lost".
const char* exit_code_name(ExitCode code);

}  // namespace hftrain
