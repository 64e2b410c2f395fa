// Agent 0's end of the job: listens, knows who has come, and carries messages to and from each. Strangers
// (another token, another job, something that is no agent at all) are refused and told why; they do the job
// no harm. One thread; nothing here waits but finish().
#pragma once

#include <poll.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "launcher/control/addresses.h"
#include "launcher/control/link.h"

namespace hftrain::launcher {

// What agent 0 compares a newcomer with.
struct HubSpec {
  int port = 0;      // 0: a free one
  std::string flag;  // where the port came from, for errors
  Hello hello;       // agent 0's own; its token is what newcomers must show
};

class ControlHub {
 public:
  struct News {
    struct Said {
      int agent = 0;
      Message message;
    };
    struct Lost {
      int agent = 0;
      std::string why;
    };
    std::vector<Said> said;  // in the order of arrival per agent; an agent's Introduction is the first
    std::vector<Lost> lost;
    std::vector<std::string> notices;
  };

  explicit ControlHub(HubSpec spec);

  int port() const noexcept { return port_; }
  // "token|10.0.0.1|…|port" for those who could not know where to come (address_exchange.h).
  std::string announcement() const;

  void append_descriptors(std::vector<pollfd>& watched) const;
  // Accepts, reads, writes, sends heartbeats. Throws an Error when a newcomer shows that the job was started
  // wrongly: another build (kEnvironment), another number of agents, a number twice (kUsage).
  News work();
  // Monotonic seconds when work() has something to do although nothing is readable.
  double next_deadline() const;

  void send(int agent, const Message& message);
  void send_to_all(const Message& message);
  // Also to those who are still at the door.
  void refuse_all(const Error& error);
  // Says the last word, and returns when all have closed their ends or `timeout_seconds` are over.
  void finish(const Message& last_word, double timeout_seconds);

  int agents() const noexcept { return spec_.hello.agents; }
  // Numbers that have not introduced themselves.
  std::vector<int> missing() const;
  bool is_here(int agent) const;
  // "node 1 (host-b)"
  std::string name_of(int agent) const;
  // Of agent 0, as the agent reaches it.
  std::string address_towards(int agent) const;
  std::string address_of(int agent) const;

 private:
  struct Member {
    Hello hello;
    ControlLink link;
    bool introduced = false;
    bool lost = false;
  };
  struct Newcomer {
    ControlLink link;
    double since = 0;
  };

  void accept_newcomers();
  void hear_newcomer(Newcomer& newcomer, News& news);
  void admit(Newcomer& newcomer, const Hello& hello, std::vector<Message> rest, News& news);
  void hear_member(int agent, Member& member, News& news);
  static void take_messages(int agent, Member& member, std::vector<Message> messages, News& news);
  void check_hello(const Hello& hello, const std::string& from) const;
  std::string stranger_because(const Hello& hello) const;

  HubSpec spec_;
  FileDescriptor listener_;
  int port_ = 0;
  std::map<int, Member> members_;
  std::vector<Newcomer> newcomers_;
};

// What an announcement says.
struct Announcement {
  std::string token;
  std::vector<Endpoint> endpoints;
};
// Throws an Error (kEnvironment) for a text that is no announcement.
Announcement read_announcement(const std::string& text);

}  // namespace hftrain::launcher
