// What a worker is doing, on pages of memory that it shares with its launcher.
//
// The launcher makes a page per worker and hands its descriptor on; the worker writes as it goes (a few plain
// stores per collective operation), and the launcher reads when it suspects that something hangs, and when
// the worker has crashed. There is no name in any file system and nothing to clean up.
//
// Writing is safe from any thread and, but for make() and open(), from signal handlers. A reading that is
// taken while the worker writes may mix two moments; who needs certainty compares two readings.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "hftrain/base/file.h"

namespace hftrain {

enum class WorkPhase : uint32_t {
  kStarting,
  kLoading,
  kTraining,
  kWaitingForData,  // training: its next rows come from a disk or a network that lets it wait
  kEvaluating,
  kSaving,
  kLeaving
};
const char* work_phase_name(WorkPhase phase);  // "starting", "loading", "waiting for data", …

// What the handler of a fatal signal leaves behind.
struct CrashNote {
  int signal = 0;
  int code = 0;             // si_code
  uint64_t address = 0;     // si_addr: of a bad access
  std::string mapped_file;  // what is mapped there; empty: nothing, or memory without a file

  bool operator==(const CrashNote&) const = default;
};

struct WorkStatus {
  WorkPhase phase = WorkPhase::kStarting;
  int64_t step = -1;        // last finished update
  uint64_t operations = 0;  // collective operations begun so far, of all groups
  std::string operation;    // the name of the newest one
  int64_t operation_bytes = 0;
  int waits =
      0;  // groups in which the device is in an operation that is not over: a host that spins then waits
  std::string stack;  // what the worker wrote when it was last asked for it, or when it crashed
  std::optional<CrashNote> crash;

  // Whether the worker has done anything between two readings.
  bool same_place(const WorkStatus& other) const {
    return phase == other.phase && step == other.step && operations == other.operations;
  }
};

class StatusPage {
 public:
  StatusPage() = default;  // no page: writes go nowhere
  // A new page with nothing on it. Error(kEnvironment) when there is no memory for it.
  static StatusPage make();
  // The page behind an inherited descriptor, which is taken over.
  static StatusPage open(FileDescriptor file);
  StatusPage(StatusPage&& other) noexcept;
  StatusPage& operator=(StatusPage&& other) noexcept;
  ~StatusPage();

  explicit operator bool() const noexcept { return fields_ != nullptr; }
  int descriptor() const noexcept { return file_.get(); }

  void set_phase(WorkPhase phase) noexcept;
  WorkPhase phase() const noexcept;
  void set_step(int64_t step) noexcept;
  // `name`: at most 15 characters are kept.
  void begin_operation(const char* name, int64_t bytes) noexcept;
  // Around the time in which a device is in an operation that the host need not wait for.
  void begin_wait() noexcept;
  void end_wait() noexcept;

  // For handlers. From now on the worker answers stack_signal() (fault_handlers.h).
  void set_answers() noexcept;
  bool answers() const noexcept;
  void set_crash(int signal, int code, uint64_t address) noexcept;
  void set_mapped_file(const char* path, size_t size) noexcept;
  // Room for a stack as text: write() to descriptor() after begin_stack() goes there; end_stack() makes it
  // seen.
  void begin_stack() noexcept;
  void end_stack() noexcept;

  WorkStatus read() const;

 private:
  struct Fields;
  StatusPage(FileDescriptor file, Fields* fields) : file_(std::move(file)), fields_(fields) {}

  FileDescriptor file_;
  Fields* fields_ = nullptr;
};

}  // namespace hftrain
