// Agent 0's end of the job: listens, knows who has come, and carries messages to and from each. Strangers
// (without the job's secret, of another job, or no agents at all) are refused and told why; they do the job
// no harm. Once all agents have come whoever knocks is a stranger. One thread; nothing here waits but
// finish(), refuse_all(), which ends with it, and run_in_background().
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "launcher/control/addresses.h"
#include "launcher/control/greeting.h"
#include "launcher/control/job_key.h"
#include "launcher/control/link.h"
#include "launcher/control/stranger_notices.h"

namespace hftrain::launcher {

// What agent 0 compares a newcomer with.
struct HubSpec {
  int port = 0;      // 0: a free one
  std::string flag;  // where the port came from, for errors
  // Of this machine, at which it listens; empty: at all.
  std::vector<std::string> addresses{};
  Hello hello;  // agent 0's own
  JobKey key{};
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
    // In the order of arrival per agent; an agent's Introduction is the first, or comes behind its AgentFailed.
    std::vector<Said> said;
    std::vector<Lost> lost;
    std::vector<std::string> notices;
  };

  explicit ControlHub(HubSpec spec);

  int port() const noexcept { return port_; }
  // "token|10.0.0.1|…|port" for those who could not know where to come (address_exchange.h).
  std::string announcement(const std::string& token) const;

  void append_descriptors(std::vector<pollfd>& watched) const;
  // Accepts, reads, writes, sends heartbeats. Looks only at connections where something has happened, at some
  // hundred of them in one call. Throws an Error when, before all are here, a newcomer shows that the job was
  // started wrongly: another build (kEnvironment), another number of agents, a number twice (kUsage).
  News work();
  // Monotonic seconds when work() has something to do although nothing is readable.
  double next_deadline() const;

  void send(int agent, const Message& message);
  void send_to_all(const Message& message);
  // Also to those who are still at the door.
  void refuse_all(const Error& error);
  // Does `work` in a thread of its own, during which the others still hear of this agent; of what they say
  // only stop signals are kept, for the next work(): for the end of a job, or of an attempt. Throws what
  // `work` throws.
  void run_in_background(const std::function<void()>& work);
  // Says the last word, and returns when all have closed their ends or `timeout_seconds` are over.
  void finish(const Message& last_word, double timeout_seconds);

  int agents() const noexcept { return spec_.hello.agents; }
  // Numbers that have not introduced themselves.
  std::vector<int> missing() const;
  bool all_came() const noexcept { return introduced_ + 1 >= agents(); }
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
    bool watches_writing = false;
  };
  struct Newcomer {
    LineSocket socket;
    Challenge challenge;
    double since = 0;
    std::string number{};  // that it drew; empty: it has not said one
    bool refused = false;
  };

  bool watch(int descriptor, uint64_t whose, bool writing, bool is_new);
  void watch_writing(int agent, Member& member);
  void listen_again();
  double hello_seconds() const;
  void accept_newcomers(size_t listener, News& news);
  void hear_newcomer(uint32_t id, News& news);
  // Why the one who says this is a stranger; empty: it is none.
  std::string stranger_because(const HelloLine& line, const Newcomer& newcomer, Hello& hello) const;
  void turn_away(Newcomer& newcomer, const std::string& why, News& news);
  void refuse(Newcomer& newcomer, const Refusal& refusal) const;
  bool owes_an_answer() const;
  void admit(Newcomer& newcomer, const Hello& hello, std::string_view number, News& news);
  void hear_member(int agent, News& news);
  void take_messages(int agent, Member& member, std::vector<Message> messages, News& news);
  void beat(double now, News& news);
  void wait_and_ignore(int also, double until);
  void note_lost(int agent, Member& member, News& news);
  void drop_silent_newcomers(double now);
  void check_hello(const Hello& hello, const std::string& from) const;

  HubSpec spec_;
  FileDescriptor watch_;  // epoll
  std::vector<FileDescriptor> listeners_;
  int port_ = 0;
  std::map<int, Member> members_;           // by agent
  std::map<uint32_t, Newcomer> newcomers_;  // in the order of their coming
  uint32_t next_newcomer_ = 0;
  int introduced_ = 0;
  size_t lost_ = 0;
  double next_beat_ = 0;
  double listen_at_ = 0;  // when no descriptor was left; 0: it listens
  bool finishing_ = false;
  std::optional<Refusal> refusal_;  // of the whole job
  std::vector<News::Said> kept_;    // stop signals that came while nobody listened
  StrangerNotices strangers_;
};

// What an announcement says.
struct Announcement {
  std::string token;
  std::vector<Endpoint> endpoints;
};
// Throws an Error (kEnvironment) for a text that is no announcement.
Announcement read_announcement(const std::string& text);

}  // namespace hftrain::launcher
