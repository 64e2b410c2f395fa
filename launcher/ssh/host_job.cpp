#include "launcher/ssh/host_job.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/shell.h"
#include "hftrain/base/text.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::launcher {
namespace {

constexpr int kShellNotFound = 127;
constexpr int kShellNotExecutable = 126;
constexpr int kRemoteShellFailed = 255;  // of ssh and its like
// The first line that `hftrain hosted` writes. What a login shell wrote before it is not ours.
const std::string kGreeting = "hftrain hosted\n";

std::string reason(const RelayedProcess& process) {
  const ExitStatus status = process.status().value_or(ExitStatus{});
  const std::string words = process.last_words();
  if (!words.empty()) return words;
  if (status.signal != 0) return "the remote shell was ended by signal " + std::to_string(status.signal);
  return "the remote shell ended with code " + std::to_string(status.code) + " without a word";
}

// Rather than that the front program behind it ended.
bool is_lost(const ExitStatus& status) {
  return status.signal != 0 || status.code == kRemoteShellFailed;
}

}  // namespace

void check_connections(const HostJobSpec& spec) {
  std::vector<std::unique_ptr<RelayedProcess>> checks(spec.machines.size());
  for (size_t index = 0; index < checks.size(); ++index) {
    if (spec.here[index]) continue;
    checks[index] = std::make_unique<RelayedProcess>(
        remote_shell(spec.launch, spec.environment, spec.machines[index].host, "true"), spec.environment,
        [](Stream, std::string_view) {});
    checks[index]->close_input();
  }
  const double deadline = monotonic_seconds() + spec.check_seconds;
  while (monotonic_seconds() < deadline) {
    std::vector<pollfd> watched;
    for (const auto& check : checks) {
      if (check) check->append_descriptors(watched);
    }
    if (watched.empty()) break;
    ::poll(watched.data(), watched.size(), milliseconds_until(deadline));
    for (const auto& check : checks) {
      if (check) check->read_ready();
    }
  }
  std::vector<Diagnostic> problems;
  for (size_t index = 0; index < checks.size(); ++index) {
    const auto& check = checks[index];
    if (!check || check->status() == ExitStatus{}) continue;
    const std::string slow =
        check->status() ? "" : "; where that takes longer, --no_ssh_check starts without this check";
    problems.push_back(
        {.what = "machine " + spec.machines[index].host + " cannot be reached",
         .where = "--hostfile, machine " + std::to_string(index),
         .why = check->status() ? reason(*check) : "no answer within " + format_duration(spec.check_seconds),
         .hint =
             "`ssh " + spec.machines[index].host +
             " true` has to work without a question; --ssh_port, --launcher_args; --exclude leaves it out" +
             slow});
  }
  if (!problems.empty()) throw Error(ExitCode::kEnvironment, std::move(problems));
}

HostJob::HostJob(HostJobSpec spec, HostJobObserver& observer)
    : spec_(std::move(spec)), observer_(observer), machines_(spec_.machines.size()) {}

ExitCode HostJob::run() {
  StopSignals signals(spec_.launch.signals_to_handle);
  for (size_t index = 0; index < machines_.size(); ++index) start(index);
  while (wait_and_read(signals.descriptor())) {
    while (const int signal = signals.next()) pass_signal(signal);
  }
  const ExitCode code = verdict();
  if (code == ExitCode::kWorkerLost && !was_stopped_) tell_lost_connection();
  return code;
}

void HostJob::start(size_t index) {
  const MachineStart& machine = spec_.machines[index];
  std::vector<std::string> argv;
  Environment environment = spec_.environment;
  if (spec_.here[index]) {
    argv = machine.arguments;
    argv.insert(argv.begin(), spec_.program);
    for (const auto& [name, value] : machine.environment) environment.set(name, value);
  } else {
    argv = remote_shell(spec_.launch, environment, machine.host, shell_quoted(spec_.program) + " hosted");
  }
  machines_[index].up = spec_.here[index];
  machines_[index].process = std::make_unique<RelayedProcess>(
      std::move(argv), std::move(environment),
      [this, index](Stream stream, std::string_view bytes) { take_output(index, stream, bytes); });
  if (!spec_.here[index]) machines_[index].process->say(order_line(machine, spec_.directory));
}

void HostJob::take_output(size_t index, Stream stream, std::string_view bytes) {
  Machine& machine = machines_[index];
  if (machine.up || stream == Stream::kErr) return observer_.on_output(index, stream, bytes);
  machine.greeting.append(bytes);
  const size_t at = machine.greeting.find(kGreeting);
  if (at == std::string::npos) {  // it may say much before that: no more is kept than could be a beginning
    const size_t kept = std::min(machine.greeting.size(), kGreeting.size() - 1);
    machine.greeting.erase(0, machine.greeting.size() - kept);
    return;
  }
  machine.up = true;
  const std::string rest = machine.greeting.substr(at + kGreeting.size());
  if (!rest.empty()) observer_.on_output(index, stream, rest);
}

bool HostJob::wait_and_read(int signals) {
  const bool behind = observer_.is_behind();
  std::vector<pollfd> watched = {{signals, POLLIN, 0}};
  for (const Machine& machine : machines_) {
    machine.process->hold_output(behind);
    machine.process->append_descriptors(watched);
  }
  if (watched.size() == 1) return false;
  double until = deadline_ > 0 ? deadline_ : kNever;
  if (behind) until = std::min(until, monotonic_seconds() + RelayedProcess::kCatchUpSeconds);
  ::poll(watched.data(), watched.size(), milliseconds_until(until));
  for (const Machine& machine : machines_) machine.process->read_ready();
  see_ends(monotonic_seconds());
  stop_those_left();
  return true;
}

void HostJob::see_ends(double now) {
  bool some = false;
  for (size_t index = 0; index < machines_.size(); ++index) {
    const Machine& machine = machines_[index];
    if (!machine.process->status()) continue;
    if (!machine.up && !killed_) fail_to_start(index);
    some = true;
  }
  if (some && deadline_ == 0) deadline_ = now + spec_.ending_seconds;
  if (deadline_ > 0 && now >= deadline_) end_all();
}

void HostJob::end_all() {
  constexpr double kForRemoteEnds = 2;
  for (size_t index = 0; index < machines_.size(); ++index) {
    Machine& machine = machines_[index];
    if (machine.process->status()) continue;
    machine.ended_by_us = true;
    if (!killed_) observer_.on_notice("ending what is left of the run on " + spec_.machines[index].host);
    machine.process->close_input();  // ends the front program of a remote machine
    if (spec_.here[index] || killed_) machine.process->kill();
  }
  killed_ = true;
  deadline_ = monotonic_seconds() + kForRemoteEnds;
}

void HostJob::pass_signal(int signal) {
  observer_.on_stop();
  was_stopped_ = true;
  last_signal_ = signal;
  send(0, signal);  // the first front program leads: it decides for all
}

void HostJob::send(size_t index, int signal) {
  RelayedProcess& process = *machines_[index].process;
  if (spec_.here[index]) return process.send(signal);
  process.say("signal " + std::to_string(signal) + '\n');
}

// Those that have not joined it yet hear nothing from the first.
void HostJob::stop_those_left() {
  if (last_signal_ == 0 || !machines_[0].process->status()) return;
  for (size_t index = 1; index < machines_.size(); ++index) {
    if (!machines_[index].process->status()) send(index, last_signal_);
  }
  last_signal_ = 0;
}

void HostJob::fail_to_start(size_t index) {
  const std::string& host = spec_.machines[index].host;
  const RelayedProcess& process = *machines_[index].process;
  const int code = process.status()->code;
  Error error(ExitCode::kEnvironment, "hftrain could not be started on " + host);
  error.where("--hostfile, machine " + std::to_string(index)).why(reason(process));
  if (code == kShellNotFound || code == kShellNotExecutable) {
    error.hint("install hftrain there at the same path: " + spec_.program);
  } else {
    error.hint("`ssh " + host + " " + shell_quoted(spec_.program) +
               " --version` has to work without a question");
  }
  throw error;  // the destructors end what was started
}

// The front program there sees the end of its input, and ends with its ranks: nobody else would say why.
void HostJob::tell_lost_connection() const {
  for (size_t index = 0; index < machines_.size(); ++index) {
    const Machine& machine = machines_[index];
    if (spec_.here[index] || machine.ended_by_us || !is_lost(*machine.process->status())) continue;
    const ExitStatus status = *machine.process->status();
    const std::string end = status.signal != 0 ? "was ended by signal " + std::to_string(status.signal)
                                               : "ended with code " + std::to_string(status.code);
    const std::string words = machine.process->last_words();
    const std::string said = words.empty() ? "" : " (" + words + ')';
    throw Error(ExitCode::kWorkerLost, "the connection to " + spec_.machines[index].host + " was lost")
        .where("--hostfile, machine " + std::to_string(index))
        .why("the remote shell " + end + said + ", and what ran there ends with it")
        .hint(
            "--launcher_args='-o ServerAliveInterval=30' keeps a connection that says little open; mpirun, "
            "srun or a front "
            "program on each machine (--no_ssh) need none. The same command goes on from the newest "
            "checkpoint");
  }
}

ExitCode HostJob::verdict() const {
  const auto code_of = [](const Machine& machine) {
    const ExitStatus status = *machine.process->status();
    return is_lost(status) ? ExitCode::kWorkerLost : static_cast<ExitCode>(status.code);
  };
  if (!machines_.front().ended_by_us && code_of(machines_.front()) != ExitCode::kDone)
    return code_of(machines_.front());
  for (const Machine& machine : machines_) {
    if (!machine.ended_by_us && code_of(machine) != ExitCode::kDone) return code_of(machine);
  }
  const bool some_ended = std::any_of(machines_.begin(), machines_.end(),
                                      [](const Machine& machine) { return machine.ended_by_us; });
  return some_ended ? ExitCode::kWorkerLost : ExitCode::kDone;
}

}  // namespace hftrain::launcher
