// Jobs of several front programs, each a process of its own (dummy_agent), joined over the loopback address.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "agents.h"
#include "contains.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"
#include "launcher/control/addresses.h"
#include "launcher/control/follower.h"
#include "launcher/process/watched_process.h"
#include "launcher/supervision/rendezvous.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::launcher {
namespace {

using testing::contains;

// What a leader hears of a follower's one rank.
struct Heard {
  int64_t newest = 0;
  int updates = 0, stacks = 0;
  double seconds = 0;
};

// Leads until the rank has made `steps` updates, asks for its stack meanwhile, and ends it then.
Heard lead_until(ControlLink& follower, int64_t steps) {
  Heard heard;
  bool gone = false;
  const double begin = monotonic_seconds();
  while (follower.open() && !gone) {
    pollfd ready{follower.descriptor(), follower.events(), 0};
    ::poll(&ready, 1, 100);
    std::vector<Message> messages;
    follower.work(messages);
    follower.tick(monotonic_seconds());
    for (const Message& message : messages) {
      if (std::holds_alternative<WorkerStacks>(message)) ++heard.stacks;
      gone = gone || std::holds_alternative<WorkersGone>(message);
      const auto* said = std::get_if<WorkerSaid>(&message);
      const auto event = said != nullptr ? plan::decode_event(said->event) : std::nullopt;
      if (!event || event->kind != plan::WorkerEvent::Kind::kStep) continue;
      heard.newest = event->data.at("step").get<int64_t>();
      if (++heard.updates == 1) follower.send(AskForStacks{});
      if (heard.newest >= steps) follower.send(EndWorkers{true});
    }
  }
  heard.seconds = monotonic_seconds() - begin;
  return heard;
}

// Leads for as long as `goes_on` says so of what the follower sends.
void lead_with(ControlLink& follower, const std::function<bool(const Message&)>& goes_on) {
  bool over = false;
  const double until = monotonic_seconds() + kHangs;
  while (follower.open() && !over && monotonic_seconds() < until) {
    pollfd ready{follower.descriptor(), follower.events(), 0};
    ::poll(&ready, 1, 100);
    std::vector<Message> messages;
    follower.work(messages);
    follower.tick(monotonic_seconds());
    for (const Message& message : messages) over = over || !goes_on(message);
  }
  while (follower.open() && follower.waiting() > 0) {
    std::vector<Message> ignored;
    follower.work(ignored);
  }
}

struct BothEnds {
  std::unique_ptr<ControlLink> leader, follower;
  BothEnds() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    leader = std::make_unique<ControlLink>(FileDescriptor(ends[1]));
    follower = std::make_unique<ControlLink>(FileDescriptor(ends[0]));
  }
};

}  // namespace

TEST_CASE("agents that start one rank each make one job that is done", "[process]") {
  Agents job;
  job.start_all(
      3, {"0 ready step:1 finish:0", "1 ready print:hello step:1 finish:0", "2 ready step:1 finish:0"});
  CHECK(job[0].finish() == 0);
  CHECK(job[1].finish() == 0);
  CHECK(job[2].finish() == 0);
  INFO(job[0].out());
  CHECK(contains(job[0].out(), "ready 2"));
  CHECK(contains(job[0].out(), "output 1 hello"));
  CHECK(contains(job[1].out(), "verdict as told"));
}

TEST_CASE(
    "a rank killed on another node ends all agents with code 9, and is named with its node and last lines",
    "[process]") {
  Agents job;
  job.start_all(2,
                {"0 ready hang", "0 ready hang", "1 ready hang", "1 ready step:4 error:farewell signal:9"});
  CHECK(job[0].finish() == 9);
  CHECK(job[1].finish() == 9);
  INFO(job[0].out());
  CHECK(contains(job[0].out(), "rank 3 was killed by SIGKILL"));
  CHECK(contains(job[0].out(), "node 1 (host-1)"));
  CHECK(contains(job[0].out(), "| farewell"));
  CHECK(contains(job[0].out(), "rank 2 on node 1 (host-1) ended by the launcher"));
}

TEST_CASE("a failure that a rank of another node reports decides the code of all", "[process]") {
  for (const int code : {4, 5, 7, 8}) {
    Agents job;
    job.start_all(2, {"0 ready hang", "1 ready fail:" + std::to_string(code)});
    CHECK(job[0].finish() == code);
    CHECK(job[1].finish() == code);
    CHECK(contains(job[0].out(), "it broke"));
  }
}

TEST_CASE("an agent that is killed takes its ranks with it, and the others end with code 9 and name its node",
          "[process]") {
  Agents job;
  job.start_all(3, {"0 ready hang", "1 ready ignore-stops hang", "1 ready hang", "2 ready hang"});
  for (const char* rank : {"ready 0", "ready 1", "ready 2", "ready 3"}) REQUIRE(job[0].wait_for(rank));
  const std::vector<pid_t> workers = job[1].children();
  CHECK(workers.size() == 2);
  job[1].send(SIGKILL);
  CHECK(job[0].finish() == 9);
  CHECK(job[2].finish() == 9);
  INFO(job[0].out());
  CHECK(contains(job[0].out(), "error: node 1 (host-1) was lost"));
  CHECK(contains(job[0].out(), "it closed the connection"));
  CHECK(are_gone(workers));
}

TEST_CASE("when the leading agent is killed the others end their ranks and name its node", "[process]") {
  Agents job;
  job.start_all(2, {"0 ready hang", "1 ready ignore-stops hang"});
  for (const char* rank : {"ready 0", "ready 1"}) REQUIRE(job[0].wait_for(rank));
  std::vector<pid_t> workers = job[0].children();
  for (const pid_t pid : job[1].children()) workers.push_back(pid);
  CHECK(workers.size() == 2);
  job[0].send(SIGKILL);
  CHECK(job[1].finish() == 9);
  INFO(job[1].out());
  CHECK(contains(job[1].out(), "node 0 (host-0) was lost"));
  CHECK(are_gone(workers));
}

TEST_CASE("a stop signal to any one agent, or to all, is one stop of the whole job", "[process]") {
  for (const bool to_all : {false, true}) {
    Agents job;
    job.start_all(2, {"0 save-on-stop:143 ready hang", "1 save-on-stop:143 ready hang"});
    for (const char* rank : {"ready 0", "ready 1"}) REQUIRE(job[0].wait_for(rank));
    job[1].send(SIGTERM);
    if (to_all) job[0].send(SIGTERM);
    CHECK(job[0].finish() == 143);
    CHECK(job[1].finish() == 143);
    INFO(job[0].out());
    CHECK(contains(job[0].out(), "SIGTERM: stopping after this update"));
    CHECK_FALSE(contains(job[0].out(), "SIGTERM again"));
  }
}

TEST_CASE("a second signal to one agent stops the job without saving", "[process]") {
  Agents job;
  job.start_all(2, {"0 ignore-stops ready hang", "1 ignore-stops ready hang"});
  for (const char* rank : {"ready 0", "ready 1"}) REQUIRE(job[0].wait_for(rank));
  job[1].send(SIGTERM);
  REQUIRE(job[0].wait_for("SIGTERM: stopping"));
  job[1].send(SIGINT);  // a key: never the same wish again
  CHECK(job[0].finish() == 10);
  CHECK(job[1].finish() == 10);
}

TEST_CASE("an agent that cannot start its worker ends the job with its reason", "[process]") {
  Agents job;
  job.start(0, 2, {"0 ready hang", "1 ready hang"});
  job.agents.push_back(std::make_unique<Agent>(std::vector<std::string>{
      testing::program("dummy_agent"), "/no/such/worker", job.folder.path(), "2", "1", "127.0.0.1",
      std::to_string(job.port), "60", "b1", "learning_rate=0.1", "0 ready hang", "1 ready hang"}));
  CHECK(job[0].finish() == 3);
  CHECK(job[1].finish() == 3);
  INFO(job[0].out());
  CHECK(contains(job[0].out(), "cannot start /no/such/worker"));
  CHECK(contains(job[0].out(), "node 1 (host-1)"));
}

TEST_CASE("a stopped rank of another node is named with what the others wait for", "[process][alone]") {
  Agents job;
  const std::string before = "answer ready phase:2 operation:all-reduce step:3 ";
  const std::vector<std::string> scripts = {"0 " + before + "operation:all-gather hang",
                                            "1 " + before + "stop-self"};
  job.start(0, 2, scripts, {.argument = "hang=2"});
  job.start(1, 2, scripts, {.argument = "hang=2"});
  CHECK(job[0].finish() == 9);
  CHECK(job[1].finish() == 9);
  INFO(job[0].out());
  CHECK(contains(job[0].out(), "rank 1 hangs: its process was stopped"));
  CHECK(contains(job[0].out(), "has not begun collective operation number 2 (all-gather)"));
  CHECK(contains(job[0].out(), "node 1 (host-1)"));
}

TEST_CASE("a rank of another node that does not come to an operation is named with its stack",
          "[process][alone]") {
  Agents job;
  const std::string before = "answer ready phase:2 operation:all-reduce step:3 ";
  const std::vector<std::string> scripts = {"0 " + before + "operation:all-gather hang",
                                            "1 " + before + "hang"};
  job.start(0, 2, scripts, {.argument = "hang=2"});
  job.start(1, 2, scripts, {.argument = "hang=2"});
  CHECK(job[0].finish() == 9);
  CHECK(job[1].finish() == 9);
  INFO(job[0].out());
  CHECK(contains(job[0].out(), "error: rank 1 hangs\n  where: rank 1 of 2 on cpu, node 1 (host-1), pid "));
  CHECK(contains(job[0].out(), "after update 3"));
  CHECK(contains(job[0].out(), "its process is asleep"));
  CHECK(contains(job[0].out(), "has not begun collective operation number 2 (all-gather)"));
  CHECK(contains(job[0].out(), "stack of rank 1, innermost first:\n"));
  CHECK(contains(job[0].out(), "sigsuspend"));
}

TEST_CASE("an agent that is stopped is lost after eight seconds of silence", "[process][slow][alone]") {
  Agents job;
  job.start_all(2, {"0 ready hang", "1 ready hang"});
  for (const char* rank : {"ready 0", "ready 1"}) REQUIRE(job[0].wait_for(rank));
  job[1].send(SIGSTOP);
  CHECK(job[0].finish() == 9);
  INFO(job[0].out());
  CHECK(contains(job[0].out(), "node 1 (host-1) was lost"));
  CHECK(contains(job[0].out(), "no word from it for"));
  job[1].send(SIGCONT);
  CHECK(job[1].finish() == 9);
}

TEST_CASE("a job that is suspended as a whole for longer than silence is allowed goes on when it wakes",
          "[process][slow][alone]") {
  Agents job;
  const std::vector<std::string> scripts = {"0 ready sleep:14000 step:1 finish:0",
                                            "1 ready sleep:14000 step:1 finish:0"};
  AgentFlags flags;
  flags.argument = "hang=8";
  for (int agent = 0; agent < 2; ++agent) job.start(agent, 2, scripts, flags);
  for (const char* rank : {"ready 0", "ready 1"}) REQUIRE(job[0].wait_for(rank));
  for (const int signal : {SIGSTOP, SIGCONT}) {
    for (size_t agent = 0; agent < 2; ++agent) {
      for (const pid_t worker : job[agent].children()) ::kill(worker, signal);
      job[agent].send(signal);
    }
    if (signal == SIGSTOP) ::poll(nullptr, 0, static_cast<int>(1000 * (silence_seconds(2) + 2)));
  }
  CHECK(job[0].finish() == 0);
  CHECK(job[1].finish() == 0);
  INFO(job[0].out());
  CHECK_FALSE(contains(job[0].out(), "was lost"));
}

TEST_CASE("arguments that differ are refused on both nodes with the key and both values", "[process]") {
  Agents job;
  job.start(0, 2, {"0 ready finish:0", "1 ready finish:0"});
  job.start(1, 2, {"0 ready finish:0", "1 ready finish:0"}, {.argument = "learning_rate=0.2"});
  CHECK(job[0].finish() == 2);
  CHECK(job[1].finish() == 2);
  for (Agent* agent : {&job[0], &job[1]}) {
    INFO(agent->out());
    CHECK(contains(agent->out(), "--learning_rate is not the same on all nodes"));
    CHECK(contains(agent->out(), "it is 0.2 on node 1 (host-1), and 0.1 on node 0 (host-0)"));
  }
}

TEST_CASE("mixed builds, wrong counts and doubled numbers are refused at once on all nodes", "[process]") {
  struct Row {
    AgentFlags flags;
    int code;
    const char* says;
  };
  const Row rows[] = {{{.build = "b2"}, 3, "1.0 build b1, node 1 (host-1) has 1.0 build b2"},
                      {{.agents = "4"}, 2, "as number 1 of 4"},
                      {{.number = "0"}, 3, "cannot listen on port"}};
  for (const Row& row : rows) {
    Agents job;
    Agent& leader = job.start(0, 3, {"0 ready finish:0"});
    while (port_holder(job.port).empty()) ::poll(nullptr, 0, 10);
    Agent& other = job.start(1, 3, {"0 ready finish:0"}, row.flags);
    CHECK(other.finish() == row.code);
    INFO(other.out());
    CHECK(contains(other.out(), row.says));
    if (row.flags.number == "0") {
      CHECK(contains(other.out(), "dummy_agent"));  // who holds the port
      leader.send(SIGTERM);
      CHECK(leader.finish() == 10);
    } else {
      CHECK(leader.finish() == row.code);
    }
  }
  Agents job;
  Agent& leader = job.start(0, 3, {"0 ready finish:0"});
  job.start(1, 3, {"0 ready finish:0"});
  job.start(1, 3, {"0 ready finish:0"});
  for (const auto& agent : job.agents) CHECK(agent->finish() == 2);
  CHECK(contains(leader.out(), "two nodes say that they are node 1"));
}

TEST_CASE("a node that does not come is named while it is waited for, and when the wait is over",
          "[process][alone]") {
  Agents job;
  Agent& leader = job.start(0, 3, {"0 ready finish:0"}, {.seconds = "4"});
  Agent& other = job.start(2, 3, {"0 ready finish:0"});
  CHECK(leader.finish() == 3);
  CHECK(other.finish() == 3);
  INFO(leader.out());
  CHECK(contains(leader.out(), "still waiting for node 1 of 3 to come to 127.0.0.1 port"));
  CHECK(contains(leader.out(), "error: node 1 did not come within"));
  CHECK(contains(leader.out(), "join_timeout=SECONDS waits longer than 0:00:04"));  // as long as it waited
  CHECK(contains(leader.out(), "node 2 (host-2) at 127.0.0.1"));
}

TEST_CASE("an agent that cannot reach node 0 says what it tried and why it failed", "[process]") {
  struct Row {
    const char* host;
    const char* says;
  };
  for (const Row& row :
       {Row{"127.0.0.1", "Connection refused"}, Row{"no-such-host.invalid", "cannot be resolved"}}) {
    Agents job;
    Agent& agent = job.start(1, 2, {"0 ready finish:0"}, {.host = row.host, .seconds = "1"});
    CHECK(agent.finish() == 3);
    INFO(agent.out());
    CHECK(contains(agent.out(), "node 1 (host-1) cannot reach node 0"));
    CHECK(contains(agent.out(), row.says));
    CHECK(contains(agent.out(), "--master_addr"));
  }
}

TEST_CASE("strangers who connect are refused and do the job no harm", "[process]") {
  Agents job;
  job.start(0, 2, {"0 ready finish:0", "1 ready finish:0"});
  while (port_holder(job.port).empty()) ::poll(nullptr, 0, 10);
  std::string why;
  const FileDescriptor silent = connect_to({"127.0.0.1", job.port}, "", kHangs, why);
  const FileDescriptor talker = connect_to({"127.0.0.1", job.port}, "", kHangs, why);
  REQUIRE(talker);
  const std::string request = "GET / HTTP/1.1\r\n\r\n";
  CHECK(::send(talker.get(), request.data(), request.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(request.size()));
  job.start(1, 2, {"0 ready finish:0", "1 ready finish:0"});
  CHECK(job[0].finish() == 0);
  CHECK(job[1].finish() == 0);
}

TEST_CASE("a follower whose leader takes nothing leaves its ranks' output in their pipes", "[process]") {
  const testing::TemporaryDirectory folder;
  const FileDescriptor listener = std::move(listen_at({"127.0.0.1"}, 0, "").front());
  std::string why;
  ControlLink link(connect_to({"127.0.0.1", port_of(listener.get())}, "", kHangs, why));
  FileDescriptor leader(::accept(listener.get(), nullptr, nullptr));
  REQUIRE(leader);
  std::thread alive([&leader] {  // and not reading
    for (int i = 0; i < 40; ++i) {
      const std::string beat = encode_message(Heartbeat{i});
      if (::send(leader.get(), beat.data(), beat.size(), MSG_NOSIGNAL) < 0) break;
      ::poll(nullptr, 0, 100);
    }
    leader.reset();
  });
  StopSignals signals;
  Follower follower(link, "node 0", signals);
  WorkerSpec worker;
  worker.argv = {testing::program("dummy_worker"), "ready", "flood:300000000", "hang"};
  CHECK_THROWS_AS(follower.run({worker}, {folder.path(), OutputFilter("all", "0")}), JobEnded);
  alive.join();
  CHECK(std::filesystem::file_size(folder / "0/stderr.log") < 32'000'000);
}

TEST_CASE("a follower tells the newest update of a rank once a second, and a stack when it has changed",
          "[process]") {
  const testing::TemporaryDirectory folder;
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  ControlLink leader{FileDescriptor(ends[1])};
  ControlLink link{FileDescriptor(ends[0])};
  constexpr int64_t kSteps = 350;  // of 10 ms
  Heard heard;
  std::thread leads([&] { heard = lead_until(leader, kSteps); });
  StopSignals signals;
  Follower follower(link, "node 0", signals);
  WorkerSpec worker;
  worker.rank = 1;
  worker.argv = {testing::program("dummy_worker"), "answer", "ready", "steps:10"};
  follower.run({worker}, {folder.path(), OutputFilter("all", "0")});
  leads.join();
  CHECK(heard.newest >= kSteps);
  CHECK(heard.updates <= heard.seconds + 3);
  CHECK(heard.stacks >= 1);
  CHECK(heard.stacks <= 2);  // the second where the first was looked at while it was written
}

TEST_CASE(
    "a follower whose leader says nothing leaves at a second wish, also one among signals that come fast") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  const FileDescriptor leader(ends[1]);
  ControlLink link{FileDescriptor(ends[0])};
  StopSignals signals;
  Follower follower(link, "node 0", signals);
  std::thread sender([] {
    for (int i = 0; i < 5; ++i) {
      ::kill(::getpid(), SIGTERM);
      ::poll(nullptr, 0, 400);
    }
  });
  try {
    follower.next();
    FAIL_CHECK("it went on");
  } catch (const JobEnded& ended) {
    CHECK(ended.code() == ExitCode::kTerminatedUnsaved);
  }
  sender.join();
}

TEST_CASE("what a leader asks for before a follower's workers are gone is done behind them", "[process]") {
  const testing::TemporaryDirectory folder;
  BothEnds ends;
  std::thread leads([&] {
    lead_with(*ends.leader, [&](const Message& message) {
      if (std::holds_alternative<WorkerSaid>(message)) {
        ends.leader->send(TakePlan{});
        ends.leader->send(EndWorkers{true});
      }
      return !std::holds_alternative<WorkersGone>(message);
    });
    ends.leader->close("over");
  });
  StopSignals signals;
  Follower follower(*ends.follower, "node 0", signals);
  WorkerSpec worker;
  worker.argv = {testing::program("dummy_worker"), "ready", "hang"};
  follower.run({worker}, {folder.path(), OutputFilter("all", "0")});
  CHECK(std::holds_alternative<TakePlan>(follower.next()));
  leads.join();
}

TEST_CASE("a follower whose workers have ended takes the verdict, whatever signals come before it",
          "[process]") {
  const testing::TemporaryDirectory folder;
  BothEnds ends;
  StopSignals signals;
  int stops = 0;
  std::thread leads([&] {
    lead_with(*ends.leader, [&](const Message& message) {
      if (!std::holds_alternative<StopReceived>(message)) return true;
      if (++stops == 1) ::kill(::getpid(), SIGINT);
      if (stops == 2) ends.leader->send(JobVerdict{143, "", {}});
      return stops < 2;
    });
  });
  Follower follower(*ends.follower, "node 0", signals);
  WorkerSpec worker;
  worker.argv = {testing::program("dummy_worker"), "ready", "finish:143"};
  follower.run({worker}, {folder.path(), OutputFilter("all", "0")});
  ::kill(::getpid(), SIGINT);  // a key: another one is a wish of its own
  CHECK(std::holds_alternative<JobVerdict>(follower.next()));
  CHECK(follower.verdict().value_or(JobVerdict{}).exit_code == 143);
  leads.join();
}

TEST_CASE("a signal while others are awaited ends the wait for all", "[process]") {
  Agents job;
  Agent& leader = job.start(0, 3, {"0 ready finish:0"});
  Agent& other = job.start(1, 3, {"0 ready finish:0"});
  REQUIRE(leader.wait_for("waiting for node 2 of 3"));
  other.send(SIGTERM);
  CHECK(leader.finish() == 10);
  CHECK(other.finish() == 10);
  INFO(leader.out());
  CHECK(contains(leader.out(), "stopped by SIGTERM on node 1 (host-1)"));
}

}  // namespace hftrain::launcher
