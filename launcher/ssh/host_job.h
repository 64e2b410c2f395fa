// One run over the machines of a host file, seen from where it was started: a front program per machine, its
// output passed on, one exit code.
//
// The front programs find, watch and end each other (the first one leads); this starter only starts them,
// hands signals to the first one and tidies up. When the starter dies, they die: those of this machine by the
// kernel, the others because `hftrain hosted` sees the end of its standard input.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "hftrain/base/exit_code.h"
#include "launcher/ssh/machine_start.h"
#include "launcher/ssh/relayed_process.h"

namespace hftrain::launcher {

struct HostJobSpec {
  std::string program;    // absolute path of hftrain, the same on every machine
  std::string directory;  // in which it runs, the same on every machine
  Environment environment;
  std::vector<MachineStart> machines;
  std::vector<bool> here;  // machine n is this one
  arguments::LaunchArguments launch;
  double check_seconds = 9;    // for the answers to the connection test
  double ending_seconds = 15;  // from the end of one front program to that of all
};

class HostJobObserver {
 public:
  virtual ~HostJobObserver() = default;
  virtual void on_output(size_t machine, Stream stream, std::string_view bytes) = 0;
  virtual void on_notice(const std::string& text) = 0;
  // Output is to be left where it is for a moment: its reader takes none.
  virtual bool is_behind() const { return false; }
  // A stop signal was passed on.
  virtual void on_stop() {}
};

// Starts `true` on every other machine at once. Throws an Error (kEnvironment) that names every machine that
// did not answer, and why.
void check_connections(const HostJobSpec& spec);

class HostJob {
 public:
  HostJob(HostJobSpec spec, HostJobObserver& observer);

  // Throws an Error (kEnvironment) when a front program cannot be started on one of the machines.
  ExitCode run();

 private:
  struct Machine {
    std::unique_ptr<RelayedProcess> process;
    bool up = false;       // its front program was started
    std::string greeting;  // of a remote machine, until it is whole
    bool ended_by_us = false;
  };

  void start(size_t index);
  void take_output(size_t index, Stream stream, std::string_view bytes);
  bool wait_and_read(int signals);
  void see_ends(double now);
  void end_all();
  void pass_signal(int signal);
  void send(size_t index, int signal);
  void stop_those_left();
  [[noreturn]] void fail_to_start(size_t index);
  ExitCode verdict() const;
  void tell_lost_connection() const;

  HostJobSpec spec_;
  HostJobObserver& observer_;
  std::vector<Machine> machines_;
  double deadline_ = 0;  // monotonic seconds; 0: nobody has ended
  int last_signal_ = 0;  // that the first machine was told, and the others were not
  bool killed_ = false, was_stopped_ = false;
};

// Whether `host` names this machine: its own name, localhost, or an address of one of its interfaces.
bool is_this_machine(const std::string& host);

// The other side: reads the order, starts the front program, passes its output and stop signals on and ends
// it when the input ends. Returns its exit code.
ExitCode run_hosted(const std::string& program, const Environment& environment, int input, int out, int err);

}  // namespace hftrain::launcher
