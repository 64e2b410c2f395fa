// Jobs of several front programs, each a process of its own (dummy_agent), joined over the loopback address.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "contains.h"
#include "launcher/process/child_process.h"
#include "launcher/supervision/rendezvous.h"
#include "reserved_port.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::launcher {

// Seconds that only a hang takes, however busy the machine is.
inline constexpr double kHangs = 60;

struct AgentFlags {
  std::string agents = "";  // empty: as many as there are
  std::string number = "";
  std::string host = "127.0.0.1";
  std::string seconds = "60";
  std::string build = "b1";
  std::string argument = "learning_rate=0.1";
  std::string secret = "";  // empty: none
};

// A program whose stdout is what is looked at.
class Agent {
 public:
  explicit Agent(std::vector<std::string> argv, Environment environment = Environment::of_process())
      : child_({std::move(argv), std::move(environment), {}}) {}

  // False when it ended without having said it.
  bool wait_for(const std::string& text) {
    while (!testing::contains(out_, text)) {
      if (!read_more()) return false;
    }
    return true;
  }
  int finish() {
    while (read_more()) {
    }
    pollfd ended{child_.exit_descriptor(), POLLIN, 0};
    ::poll(&ended, 1, -1);
    const ExitStatus status = child_.reap().value();
    return status.signal != 0 ? 128 + status.signal : status.code;
  }
  void send(int signal) { child_.send(signal); }
  const std::string& out() const { return out_; }
  std::vector<pid_t> children() const {
    const std::string id = std::to_string(child_.pid());
    std::ifstream list("/proc/" + id + "/task/" + id + "/children");
    std::vector<pid_t> pids;
    for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
    return pids;
  }

 private:
  bool read_more() {
    FileDescriptor& pipe = child_.standard_output();
    if (!pipe) return false;
    pollfd ready{pipe.get(), POLLIN, 0};
    ::poll(&ready, 1, -1);
    char buffer[4096];
    const ssize_t count = ::read(pipe.get(), buffer, sizeof buffer);
    if (count > 0) out_.append(buffer, static_cast<size_t>(count));
    if (count == 0) pipe.reset();
    return true;
  }

  ChildProcess child_;
  std::string out_;
};

struct Agents {
  testing::TemporaryDirectory folder;
  testing::ReservedPort reserved;
  int port = reserved.number();
  std::vector<std::unique_ptr<Agent>> agents;

  Agent& start(int number, int count, const std::vector<std::string>& scripts, const AgentFlags& flags = {}) {
    std::vector<std::string> argv = {testing::program("dummy_agent"),
                                     testing::program("dummy_worker"),
                                     folder.path(),
                                     flags.agents.empty() ? std::to_string(count) : flags.agents,
                                     flags.number.empty() ? std::to_string(number) : flags.number,
                                     flags.host,
                                     std::to_string(port),
                                     flags.seconds,
                                     flags.build,
                                     flags.argument};
    argv.insert(argv.end(), scripts.begin(), scripts.end());
    Environment environment = Environment::of_process();
    if (!flags.secret.empty()) environment.set("HFTRAIN_JOB_SECRET", flags.secret);
    agents.push_back(std::make_unique<Agent>(std::move(argv), std::move(environment)));
    return *agents.back();
  }
  void start_all(int count, const std::vector<std::string>& scripts) {
    for (int i = 0; i < count; ++i) start(i, count, scripts);
  }
  // Until agent 0 listens.
  void wait_for_leader() const {
    while (port_holder(port).empty()) ::poll(nullptr, 0, 10);
  }
  Agent& operator[](size_t i) { return *agents[i]; }
};

// Waits until none of these processes is left; a zombie that nobody reaps counts as gone.
inline bool are_gone(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    for (int i = 0; i < 3000; ++i) {
      std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
      std::string id, name, state;
      file >> id >> name >> state;
      if (state.empty() || state == "Z" || state == "X") break;
      if (i == 2999) return false;
      ::poll(nullptr, 0, 10);
    }
  }
  return true;
}

}  // namespace hftrain::launcher
