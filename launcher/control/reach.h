// Whether the machines of a job reach each other, found out before training: for as long as that takes each
// has a port at which it answers, and tries the ports of the others. Agent 0 alone hears all answers.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "hftrain/base/file.h"

namespace hftrain::launcher {

// Listens at a free port of these addresses of this machine, at no other one, and says `answer` to whoever comes, in a thread of its own. The text is drawn for
// it, so that another program, or another machine with the same address, is not taken for it; it takes in
// nothing.
class AnswerPort {
 public:
  // At least one address. Error (kEnvironment) when no port is free; std::system_error when no thread can be started.
  explicit AnswerPort(const std::vector<std::string>& addresses);
  AnswerPort(const AnswerPort&) = delete;
  AnswerPort& operator=(const AnswerPort&) = delete;
  ~AnswerPort();

  int port() const noexcept { return port_; }
  const std::string& answer() const noexcept { return answer_; }

 private:
  void serve() const;

  std::vector<FileDescriptor> listeners_;  // all at one port
  int port_;
  std::string answer_;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // uses the above
};

// Where an agent answers, and what it says there.
struct Peer {
  int agent = 0;
  std::string address;  // numeric
  int port = 0;
  std::string answer;
};

constexpr double kReachSeconds = 5;  // a lost packet is sent again after 1 s, and after 3 s

// Tries all at once for `timeout_seconds` at most; of more than 256 so many at a time. Those that do not answer, by agent,
// and why.
std::map<int, std::string> unreached(const std::vector<Peer>& peers, double timeout_seconds);

}  // namespace hftrain::launcher
