// Whoever connects to the port of a job without belonging to it.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agents.h"
#include "contains.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"
#include "launcher/control/addresses.h"
#include "launcher/control/follower.h"
#include "launcher/control/greeting.h"
#include "launcher/control/hub.h"
#include "launcher/control/job_worker_set.h"
#include "launcher/control/warning_notice.h"
#include "launcher/process/descriptor_limit.h"
#include "launcher/process/watched_process.h"
#include "resident_bytes.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::launcher {
namespace {

using testing::contains;
using testing::resident_bytes;

const std::vector<std::string> kScripts = {"0 save-on-stop:143 ready hang", "1 save-on-stop:143 ready hang"};

// A connection that says what it likes.
class Stranger {
 public:
  explicit Stranger(int port) {
    std::string why;
    socket_ = connect_to({"127.0.0.1", port}, "", kHangs, why);
    INFO(why);
    REQUIRE(socket_);
  }
  // The next line, or "" at the end of the connection. That nothing comes is neither.
  std::string hear() {
    std::string line;
    for (char c = 0; c != '\n';) {
      pollfd ready{socket_.get(), POLLIN, 0};
      REQUIRE(::poll(&ready, 1, static_cast<int>(1000 * kHangs)) == 1);
      const ssize_t count = ::read(socket_.get(), &c, 1);
      if (count <= 0) return "";
      if (c != '\n') line += c;
    }
    return line;
  }
  void say(const std::string& text) {
    CHECK(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  }
  // The answer to a greeting with this Hello and secret.
  std::string greet(const Hello& hello, const JobKey& key = {}) {
    const auto challenge = read_challenge(hear());
    REQUIRE(challenge);
    say(hello_line(hello, key, *challenge, random_number()));
    return hear();
  }

 private:
  FileDescriptor socket_;
};

Hello hello_of(int agent, int agents) {
  Hello hello;
  hello.agent = agent;
  hello.agents = agents;
  hello.host = "intruder";
  hello.version = "1.0";
  hello.build = "b1";
  return hello;
}

// Of a process, by all its threads.
double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

// An agent of a test's own: member 1 of a hub of two, with rank 1.
struct ForgedAgent {
  ControlHub hub;
  Stranger agent;
  WorkerGroup own{{}, -1};
  std::unique_ptr<JobWorkerSet> worker_set;
  hftrain::testing::TemporaryDirectory folder;
  OutputRouter router{{folder.path(), OutputFilter("all", "0")}, {}, [](const auto&) {}, [](const auto&) {}};

  static HubSpec spec() {
    HubSpec spec;
    spec.hello = hello_of(0, 2);
    spec.addresses = {"127.0.0.1"};
    return spec;
  }
  ForgedAgent() : hub(spec()), agent(hub.port()) {
    hub.work();
    const auto challenge = read_challenge(agent.hear());
    REQUIRE(challenge);
    agent.say(hello_line(hello_of(1, 2), {}, *challenge, random_number()));
    agent.say(encode_message(Introduction{}));
    while (!hub.all_came()) hub.work();
    Others others;
    others.workers.push_back({0, 1, "cpu"});
    worker_set = std::make_unique<JobWorkerSet>(own, hub, others);
  }
  WorkerSet::Changes hear(const Message& message) {
    agent.say(encode_message(message));
    agent.say(encode_message(AgentNotice{"over"}));
    WorkerSet::Changes all;
    while (all.notices.empty()) {
      const WorkerSet::Changes some = worker_set->read_ready({}, router);
      all.events.insert(all.events.end(), some.events.begin(), some.events.end());
      all.stops.insert(all.stops.end(), some.stops.begin(), some.stops.end());
      all.lines.insert(all.lines.end(), some.lines.begin(), some.lines.end());
      all.notices = some.notices;
    }
    return all;
  }
};

}  // namespace

TEST_CASE("a well-formed greeting during training is refused and logged, and training goes on", "[process]") {
  Agents job;
  job.start_all(2, kScripts);
  for (const char* rank : {"ready 0", "ready 1"}) REQUIRE(job[0].wait_for(rank));
  Hello other_build = hello_of(1, 2);
  other_build.build = "b2";
  Hello other_job = hello_of(1, 2);
  other_job.job_id = "other\x1b[2J";
  for (const Hello& hello : {hello_of(1, 2), hello_of(7, 2), hello_of(1, 9), other_build, other_job}) {
    const std::string answer = Stranger(job.port).greet(hello);
    INFO(answer);
    CHECK(contains(answer, "refused by node 0 (host-0)"));
  }
  REQUIRE(job[0].wait_for("refused a connection from 127.0.0.1: all nodes of this job have come"));
  REQUIRE(job[0].wait_for("its job is 'other\\x1b[2J'"));
  job[1].send(SIGTERM);
  CHECK(job[0].finish() == 143);
  CHECK(job[1].finish() == 143);
}

TEST_CASE(
    "more than 4 KiB without a greeting, or anything else, is logged, ends a connection and nothing more",
    "[process]") {
  Agents job;
  job.start_all(2, kScripts);
  for (const char* rank : {"ready 0", "ready 1"}) REQUIRE(job[0].wait_for(rank));
  const std::string no_greeting = "what it says is no greeting of this program";
  const std::string too_long = "what it says is longer than a greeting of this program";
  // What is too long may lose its answer: the end of a connection with words unread can come before it.
  const std::vector<std::pair<std::string, std::string>> cases = {{std::string(100'000, '['), too_long},
                                                                  {std::string(5000, 'x') + '\n', too_long},
                                                                  {"hftrain 1 x y z\n", no_greeting},
                                                                  {"GET / HTTP/1.1\r\n\r\n", no_greeting},
                                                                  {std::string(1, '\0') + "\n", no_greeting}};
  for (const auto& [said, answered] : cases) {
    INFO(said.substr(0, 20));
    Stranger stranger(job.port);
    CHECK(read_challenge(stranger.hear()));
    stranger.say(said);
    const std::string answer = stranger.hear();
    CHECK((contains(answer, answered) || (answer.empty() && answered == too_long)));
    CHECK(stranger.hear().empty());
  }
  REQUIRE(job[0].wait_for("refused a connection from 127.0.0.1: " + no_greeting));
  CHECK(contains(job[0].out(), "refused a connection from 127.0.0.1: " + too_long));  // they came before
  { const Stranger silent(job.port); }
  job[0].send(SIGTERM);
  CHECK(job[0].finish() == 143);
  CHECK(job[1].finish() == 143);
}

TEST_CASE("a greeting that does not end is cut off when it is too long, not when its time is over",
          "[alone]") {
  HubSpec spec;
  spec.hello.agents = 2;
  spec.addresses = {"127.0.0.1"};
  ControlHub hub(std::move(spec));
  std::string why;
  const FileDescriptor stranger = connect_to({"127.0.0.1", hub.port()}, "", kHangs, why);
  REQUIRE(stranger);
  const std::string endless(kLongestGreeting + 1, 'x');
  REQUIRE(::send(stranger.get(), endless.data(), endless.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(endless.size()));
  const double begin = monotonic_seconds();  // ten seconds are a greeting's time
  bool cut_off = false;
  while (!cut_off && monotonic_seconds() < begin + 5) {
    hub.work();
    pollfd end{stranger.get(), POLLRDHUP, 0};
    cut_off = ::poll(&end, 1, 10) > 0;
  }
  CHECK(cut_off);
}

TEST_CASE("agents that know the job's secret meet; one that does not is refused, and the others still meet",
          "[process]") {
  Agents job;
  job.start(0, 2, kScripts, {.secret = "s3cret"});
  job.wait_for_leader();
  for (const JobKey& key : {JobKey(), JobKey("guess", "")}) {
    const std::string answer = Stranger(job.port).greet(hello_of(1, 2), key);
    CHECK(contains(answer, "refused by node 0"));
  }
  Agents others;
  others.port = job.port;
  Agent& without = others.start(1, 2, kScripts);
  CHECK(without.finish() == 2);
  CHECK(contains(without.out(), "this job has a secret"));
  Agent& wrong = others.start(1, 2, kScripts, {.secret = "guess"});
  CHECK(wrong.finish() == 3);
  CHECK(contains(wrong.out(), "it did not show that it knows this node's secret"));
  CHECK(contains(wrong.out(), "it does not know the secret of this job"));
  job.start(1, 2, kScripts, {.secret = "s3cret"});
  for (const char* rank : {"ready 0", "ready 1"}) REQUIRE(job[0].wait_for(rank));
  job[0].send(SIGTERM);
  CHECK(job[0].finish() == 143);
  CHECK(job[1].finish() == 143);
}

TEST_CASE("a follower obeys no leader that does not know the secret", "[process]") {
  Agents job;
  Agent& leader = job.start(0, 2, kScripts, {.seconds = "5"});
  job.wait_for_leader();
  Agent& follower = job.start(1, 2, kScripts, {.secret = "s3cret"});
  CHECK(follower.finish() == 2);
  CHECK(contains(follower.out(), "node 0 has no secret of this job, and node 1 (host-1) has one"));
  CHECK(leader.finish() == 3);

  // One that asks for a proof, and then has none of its own.
  Agents other;
  const FileDescriptor imposter = std::move(listen_at({"127.0.0.1"}, other.port, "").front());
  Agent& agent = other.start(1, 2, kScripts, {.seconds = "5", .secret = "s3cret"});
  pollfd ready{imposter.get(), POLLIN, 0};
  REQUIRE(::poll(&ready, 1, 20000) == 1);
  const FileDescriptor socket(::accept(imposter.get(), nullptr, nullptr));
  const Challenge challenge{random_number(), true};
  const std::string lines = challenge_line(challenge) +
                            welcome_line(Welcome{"host-0"}, JobKey("guess", ""), challenge, random_number());
  CHECK(::send(socket.get(), lines.data(), lines.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(lines.size()));
  CHECK(agent.finish() == 3);
  CHECK(contains(agent.out(), "what answers as node 0 does not know the secret of this job"));
}

TEST_CASE("who does not prove that he knows the secret ends no follower with an exit code of his own",
          "[process]") {
  const std::string fine = R"({"message":"refusal","exit_code":0,"text":"fine"})";
  for (const auto& [secret, answer, code, said] :
       {std::tuple("s3cret", "hftrain 1 refused - " + fine, 3,
                   "it did not show that it knows this node's secret"),
        std::tuple("s3cret", "hftrain 1 refused " + fine, 3, "does not know the secret of this job"),
        std::tuple("", "hftrain 1 refused - " + fine, 1, "fine")}) {
    Agents job;
    const FileDescriptor imposter = std::move(listen_at({"127.0.0.1"}, job.port, "").front());
    Agent& agent = job.start(1, 2, kScripts, {.seconds = "5", .secret = secret});
    pollfd ready{imposter.get(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, 20000) == 1);
    const FileDescriptor socket(::accept(imposter.get(), nullptr, nullptr));
    const std::string lines =
        challenge_line(Challenge{random_number(), !std::string(secret).empty()}) + answer + '\n';
    CHECK(::send(socket.get(), lines.data(), lines.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(lines.size()));
    CHECK(agent.finish() == code);
    INFO(agent.out());
    CHECK(contains(agent.out(), said));
  }
}

TEST_CASE("an invalid agent that knows the secret is refused with a proof, whenever it comes", "[process]") {
  Agents job;
  job.start(0, 2, kScripts, {.secret = "s3cret"});
  job.wait_for_leader();
  Agent& other_build = job.start(1, 2, kScripts, {.build = "b2", .secret = "s3cret"});
  CHECK(other_build.finish() == 3);
  CHECK(contains(other_build.out(), "the nodes run different builds"));
  CHECK(contains(other_build.out(), "node 0 did not take node 1"));
  CHECK(contains(other_build.out(), "  where: 127.0.0.1"));
  CHECK(contains(other_build.out(), "  try: see to what it says"));
  CHECK(job[0].finish() == 3);
}

TEST_CASE("the last word of a leader counts when it came together with its welcome") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  LineSocket socket(FileDescriptor(ends[0]), kLongestGreeting, 8);
  {
    const FileDescriptor leader(ends[1]);
    const std::string word = encode_message(Refusal{2, "two nodes say that they are node 1"});
    REQUIRE(::send(leader.get(), word.data(), word.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(word.size()));
  }
  socket.work();  // the greeting reads all that is there and takes its own lines
  REQUIRE_FALSE(socket.open());
  ControlLink link(std::move(socket), 2);
  StopSignals signals;
  Follower follower(link, "node 0", signals);
  try {
    follower.next();
    FAIL("the job went on");
  } catch (const JobEnded& ended) {
    CHECK(ended.code() == ExitCode::kUsage);
    CHECK(contains(ended.render(), "two nodes say that they are node 1"));
  }
}

TEST_CASE("a stop signal of another agent that comes between two attempts is not lost") {
  ForgedAgent job;
  job.agent.say(encode_message(StopReceived{SIGTERM}));
  job.agent.say(encode_message(AgentNotice{"over"}));
  job.hub.run_in_background([] { ::poll(nullptr, 0, 200); });
  job.hub.run_in_background([] {});  // nor by waiting twice
  const ControlHub::News news = job.hub.work();
  REQUIRE(news.said.size() == 1);
  CHECK(std::get<StopReceived>(news.said[0].message).signal == SIGTERM);
  CHECK(job.hub.work().said.empty());
}

TEST_CASE("without a secret a job's port is open at the address of its name alone", "[process]") {
  Agents job;
  Agent& leader = job.start(0, 2, kScripts, {.seconds = "60"});
  job.wait_for_leader();
  std::string outside;
  for (const std::string& address : own_addresses()) {
    if (!is_loopback(address)) outside = address;
  }
  std::string why;
  CHECK(connect_to({"127.0.0.1", job.port}, "", kHangs, why));
  if (!outside.empty()) CHECK_FALSE(connect_to({outside, job.port}, "", kHangs, why));
  leader.send(SIGTERM);
  CHECK(leader.finish() == 10);
}

TEST_CASE("a name leads to the addresses of this machine that it means, and never to all") {
  const std::vector<std::string> own = {"10.0.0.1", "192.168.0.1", "127.0.0.1"};
  using Addresses = std::vector<std::string>;
  CHECK(addresses_to_listen_at("node", {"192.168.0.1"}, own) == Addresses{"192.168.0.1"});
  CHECK(addresses_to_listen_at("127.0.0.1", {"127.0.0.1"}, own) == Addresses{"127.0.0.1"});
  CHECK(addresses_to_listen_at("localhost", {"::1", "127.0.0.1"}, own) == Addresses{"::1", "127.0.0.1"});
  // Debian gives a machine's own name this address.
  CHECK(addresses_to_listen_at("node", {"127.0.1.1"}, own) == Addresses{"127.0.1.1", "10.0.0.1"});
  // A service in front of it.
  CHECK(addresses_to_listen_at("service", {"10.9.9.9"}, own) == Addresses{"10.0.0.1"});
  CHECK(addresses_to_listen_at("both", {"192.168.0.1", "10.9.9.9"}, own) == Addresses{"192.168.0.1"});
}

TEST_CASE("node 0 is open to others by any of its addresses, in whatever order its name has them") {
  CHECK(any_from_outside({"127.0.0.1", "10.0.0.1"}));
  CHECK(any_from_outside({"10.0.0.1", "127.0.0.1"}));
  CHECK_FALSE(any_from_outside({"::1", "127.0.1.1"}));
}

TEST_CASE("when no descriptor is left the hub says so, rests, and goes on when there is one") {
  HubSpec spec;
  spec.hello.agents = 2;
  spec.addresses = {"127.0.0.1"};
  ControlHub hub(std::move(spec));
  std::vector<FileDescriptor> knocking;
  std::string why;
  for (int i = 0; i < 3; ++i) knocking.push_back(connect_to({"127.0.0.1", hub.port()}, "", kHangs, why));
  REQUIRE(knocking.back());
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(knocking.back().get() + 1);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const ControlHub::News news = hub.work();
  const double begin = monotonic_seconds(), cpu = cpu_seconds();
  int turns = 0;
  while (monotonic_seconds() < begin + 0.9) {
    std::vector<pollfd> watched;
    hub.append_descriptors(watched);
    const double left = std::max(0.0, std::min(hub.next_deadline(), begin + 0.9) - monotonic_seconds());
    ::poll(watched.data(), watched.size(), static_cast<int>(left * 1000) + 1);
    hub.work();
    ++turns;
  }
  const double used = cpu_seconds() - cpu;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE(news.notices.size() == 1);
  CHECK(contains(news.notices[0], "somebody at port " + std::to_string(hub.port())));
  CHECK(contains(news.notices[0], "room for " + std::to_string(none.rlim_cur) + " descriptors"));
  CHECK(turns < 20);
  CHECK(used < 0.5);
  pollfd answer{knocking[0].get(), POLLIN, 0};
  while (::poll(&answer, 1, 10) == 0) hub.work();  // it was not forgotten
}

TEST_CASE("who knocks faster than anybody can answer leaves the hub time for the others") {
  HubSpec spec;
  spec.hello.agents = 2;
  spec.addresses = {"127.0.0.1"};
  ControlHub hub(std::move(spec));
  std::vector<FileDescriptor> knocking;
  std::string why;
  for (int i = 0; i < 300; ++i) knocking.push_back(connect_to({"127.0.0.1", hub.port()}, "", kHangs, why));
  REQUIRE(knocking.back());
  const auto answered = [&knocking] {
    std::vector<pollfd> watched;
    for (const FileDescriptor& each : knocking) watched.push_back({each.get(), POLLIN, 0});
    return ::poll(watched.data(), watched.size(), 0);
  };
  hub.work();
  const int at_once = answered();
  CHECK(at_once > 0);
  CHECK(at_once <= 100);
  for (int turns = 0; turns < 1000 && answered() < 300; ++turns) hub.work();
  CHECK(answered() == 300);
}

TEST_CASE("the limit of descriptors is raised to what the system allows, and named when it is too low") {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = 100;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  CHECK(describe_descriptor_limit() == "room for 100 descriptors (ulimit -n)");
  try {
    check_descriptor_limit(1000, 4);
    FAIL("it is enough");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(contains(error.render(), "too few descriptors for a job of 1000 nodes"));
  }
  check_descriptor_limit(2, 1);
  raise_descriptor_limit();
  rlimit after{};
  ::getrlimit(RLIMIT_NOFILE, &after);
  CHECK(after.rlim_cur == std::min<rlim_t>(before.rlim_max, 1'000'000));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}

TEST_CASE("an agent that says of itself what cannot be ends the job by name, whatever it says", "[process]") {
  for (const char* ranks : {"x", "99999999999999999999", "-3", "300000", "0", ""}) {
    Agents job;
    job.start(0, 2, kScripts);
    job.wait_for_leader();
    Stranger agent(job.port);
    const auto challenge = read_challenge(agent.hear());
    REQUIRE(challenge);
    agent.say(hello_line(hello_of(1, 2), {}, *challenge, random_number()));
    Introduction introduction;
    introduction.address = "127.0.0.1";
    introduction.facts.nproc_per_node = ranks;
    agent.say(encode_message(introduction));
    CHECK(job[0].finish() == 2);
    INFO(job[0].out());
    CHECK(contains(job[0].out(), "what node 1 (intruder) says of itself cannot be"));
    CHECK(contains(job[0].out(), std::string("nproc_per_node is \"") + ranks + '"'));
  }
}

TEST_CASE("a machine without an address says so instead of leading a job", "[process]") {
  const std::string unshare = "/usr/bin/unshare";
  WatchedProcess probe({unshare, "-n", "/bin/true"});
  if (probe.finish() != 0) HFTRAIN_SKIP("the right to make a network namespace");
  WatchedProcess leader({unshare, "-n", testing::program("dummy_agent"), testing::program("dummy_worker"),
                         "/tmp", "2", "0", "10.0.0.1", "29500", "5", "b1", "x=y", "0 ready"});
  CHECK(leader.finish() == 3);
  INFO(leader.out() << leader.err());
  CHECK(contains(leader.out(), "this machine has no address at which node 0 could listen"));
  CHECK(contains(leader.out(), "no network interface of it is up"));
}

TEST_CASE("of many strangers the first are told, then one a minute with how many there were") {
  StrangerNotices notices;
  std::vector<std::string> said;
  for (int i = 0; i < 100; ++i) notices.refused("10.0.0.9", "no", 0.1 * i, said);
  CHECK(said.size() == 5);
  CHECK(is_warning(said.front()));  // --quiet and --log_level warning leave it
  notices.refused("10.0.0.9", "no", 100, said);
  REQUIRE(said.size() == 6);
  CHECK(contains(said.back(), "(and 95 more"));
}

TEST_CASE("what all of many agents are told is encoded and held once, not once an agent") {
  constexpr int kAgents = 40;
  HubSpec spec;
  spec.hello = hello_of(0, kAgents);
  spec.addresses = {"127.0.0.1"};
  ControlHub hub(std::move(spec));
  std::vector<Stranger> agents;
  for (int agent = 1; agent < kAgents; ++agent) {
    agents.emplace_back(hub.port());
    hub.work();
    const auto challenge = read_challenge(agents.back().hear());
    REQUIRE(challenge);
    agents.back().say(hello_line(hello_of(agent, kAgents), {}, *challenge, random_number()));
    agents.back().say(encode_message(Introduction{}));
  }
  while (!hub.all_came()) hub.work();
  // They read nothing, so each has nearly all of it to come.
  constexpr int64_t kSize = 8 << 20;
  const int64_t before = resident_bytes();
  hub.send_to_all(AgentNotice{std::string(kSize, 'x')});
  const int64_t more = resident_bytes() - before;
  INFO(more);
  CHECK(more < kAgents / 2 * kSize);
}

TEST_CASE("ranks and signals that another agent names count only when they are its own and stop a job") {
  ForgedAgent job;
  for (const int signal : {SIGKILL, SIGSTOP, SIGSEGV, 0, -1, 64, 1000})
    CHECK(job.hear(StopReceived{signal}).stops.empty());
  CHECK(job.hear(StopReceived{SIGTERM}).stops.size() == 1);
  for (const int rank : {-1, 1, 1000000}) {
    CHECK(job.hear(WorkerPrinted{rank, false, "x"}).lines.empty());
    job.hear(WorkerStarted{rank, 1});
    job.hear(WorkerEnded{rank, 9, 0, 0, false});
    WorkersSeen seen;
    WorkerStacks stacks;
    WorkersGone gone;
    for (const std::string& key : {std::to_string(rank), std::string("x"), std::string("99999999999")}) {
      seen.snapshots[key] = {};
      stacks.stacks[key] = "frame";
      gone.last_lines[key] = {"line"};
    }
    job.hear(seen);
    job.hear(stacks);
    job.hear(gone);
  }
  CHECK(job.worker_set->records().size() == 1);
  CHECK(job.worker_set->records()[0].pid == -1);
  CHECK(job.worker_set->look()[0].status.stack.empty());
  // What only agent 0's own rank tells, and what is none of an event's.
  const Json path = {{"step", 5}, {"path", "/home/user/thesis"}};
  CHECK(job.hear(WorkerSaid{plan::encode_event({plan::WorkerEvent::Kind::kCheckpoint, 0, 1.0, path})})
            .events.empty());
  CHECK(job.hear(WorkerSaid{plan::encode_event({plan::WorkerEvent::Kind::kMessage, 0, 1.0, {{"text", 5}}})})
            .events.empty());
  // What the rank itself says is printed out.
  plan::WorkerEvent event{plan::WorkerEvent::Kind::kMessage, 0, 1.0, {{"text", "a\x1b[2J"}}};
  CHECK(job.hear(WorkerSaid{plan::encode_event(event)}).events.at(0).data.at("text") == "a\\x1b[2J");
}

TEST_CASE("a stack stays known while its rank is seen again without it") {
  ForgedAgent job;
  job.hear(WorkerStacks{{{"0", "frame"}}});
  WorkersSeen seen;
  seen.snapshots["0"].process.state = 'S';
  job.hear(seen);
  CHECK(job.worker_set->look()[0].status.stack == "frame");
  CHECK(job.worker_set->look()[0].process.state == 'S');
}

}  // namespace hftrain::launcher
