#include "launcher/control/message.h"

#include <poll.h>
#include <sys/socket.h>

#include "launcher/control/hub.h"
#include "launcher/control/link.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::launcher {
namespace {

template <size_t... kIndices>
std::vector<Message> one_of_each(std::index_sequence<kIndices...>) {
  return {Message(std::in_place_index<kIndices>)...};
}

// What another agent reads of it, and what goes over the wire for that.
template <typename Sent>
std::pair<Sent, Json> received(const Sent& message) {
  std::string line = encode_message(message);
  line.pop_back();
  const auto back = decode_message(line);
  REQUIRE(back);
  return {std::get<Sent>(*back), Json::parse(line)};
}

std::pair<ControlLink, ControlLink> linked() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  return {ControlLink(FileDescriptor(ends[0])), ControlLink(FileDescriptor(ends[1]))};
}

// As its owner does: once a second at least.
void tick_until(ControlLink& link, double from, double until) {
  for (double now = from; now < until; now += ControlLink::kHeartbeatSeconds) link.tick(now);
  link.tick(until);
}

}  // namespace

TEST_CASE("every message comes back as it was from its line") {
  for (const Message& message : one_of_each(std::make_index_sequence<std::variant_size_v<Message>>{})) {
    const std::string line = encode_message(message);
    INFO(line);
    CHECK(line.find('\n') == line.size() - 1);
    const auto back = decode_message(std::string_view(line).substr(0, line.size() - 1));
    REQUIRE(back);
    CHECK(back->index() == message.index());
    CHECK(encode_message(*back) == line);
  }
}

// Members are named by structured bindings: one that is added has no place here before it is looked at.
TEST_CASE("a plan and the answer to it come with each of their members, under their names") {
  const auto [taken, taken_line] = received(PlanTaken{"/out/hftrain/plan.json", 40, "the hash of its files"});
  const auto& [path, step, files] = taken;
  CHECK(path == "/out/hftrain/plan.json");
  CHECK(step == 40);
  CHECK(files == "the hash of its files");
  CHECK(taken_line == Json{{"message", "plan_taken"},
                           {"path", "/out/hftrain/plan.json"},
                           {"step", 40},
                           {"files", "the hash of its files"}});
  for (const char* member : {"path", "step", "files"}) {
    INFO(member);
    Json less = taken_line;
    less.erase(member);
    CHECK_FALSE(decode_message(less.dump()));
  }
  const auto [take, take_line] = received(TakePlan{{{"seed", 3}}, 30, "another hash", {"checkpoint-40"}});
  const auto& [plan, from, of_leader, aside] = take;
  CHECK(plan == Json{{"seed", 3}});
  CHECK(from == 30);
  CHECK(of_leader == "another hash");
  CHECK(aside == std::vector<std::string>{"checkpoint-40"});
  CHECK(take_line == Json{{"message", "take_plan"},
                          {"plan", {{"seed", 3}}},
                          {"step", 30},
                          {"files", "another hash"},
                          {"aside", {"checkpoint-40"}}});
}

TEST_CASE("what is said of workers comes with each of its members, under their names") {
  const auto [start, start_line] = received(StartWorkers{2, "10.0.0.1", 4711});
  const auto& [attempt, address, port] = start;
  CHECK((attempt == 2 && address == "10.0.0.1" && port == 4711));
  CHECK(start_line == Json{{"message", "start_workers"},
                           {"attempt", 2},
                           {"master_address", "10.0.0.1"},
                           {"master_port", 4711}});
  const auto [ended, ended_line] = received(WorkerEnded{3, 9, 137, 5, true});
  const auto& [rank, signal, code, sent, for_memory] = ended;
  CHECK((rank == 3 && signal == 9 && code == 137 && sent == 5 && for_memory));
  CHECK(ended_line == Json{{"message", "worker_ended"},
                           {"rank", 3},
                           {"signal", 9},
                           {"code", 137},
                           {"signals_sent", 5},
                           {"killed_for_memory", true}});
  const auto [verdict, verdict_line] = received(JobVerdict{7, "the disk is full", {{"exit_code", 7}}});
  const auto& [exit_code, text, summary] = verdict;
  CHECK((exit_code == 7 && text == "the disk is full" && summary == Json{{"exit_code", 7}}));
  CHECK(verdict_line == Json{{"message", "job_verdict"},
                             {"exit_code", 7},
                             {"text", "the disk is full"},
                             {"summary", {{"exit_code", 7}}}});
}

TEST_CASE("a line that is nested too deep, or has a number that does not fit, is no message") {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK_FALSE(decode_message(R"({"message":"take_plan","plan":)" + deep + "}"));
  CHECK_FALSE(decode_message(R"({"message":"stop_received","signal":1e300})"));
  CHECK_FALSE(decode_message(R"({"message":"stop_received","signal":1099511627791})"));
  const std::string ended =
      R"({"message":"worker_ended","rank":1,"signal":0,"code":0,"killed_for_memory":false,)";
  CHECK(decode_message(ended + R"("signals_sent":1.0})"));
  CHECK_FALSE(decode_message(ended + R"("signals_sent":-1.0})"));
  const std::string failed =
      R"({"message":"agent_failed","exit_code":3,"mistakes":[{"what":"w","where":"","why":"",)";
  CHECK(decode_message(failed + R"("hint":"","severity":2}]})"));
  for (const char* severity : {"3", "-1", "1e300", "true"}) {
    INFO(severity);
    CHECK_FALSE(decode_message(failed + R"("hint":"","severity":)" + severity + "}]}"));
  }
}

TEST_CASE("an introduction carries machine, GPUs, cores and the given rank") {
  Introduction introduction;
  introduction.address = "10.0.0.2";
  introduction.arguments["seed"] = "42";
  introduction.model = {"/model", {{"model.safetensors", "its mark"}}};
  plan::AgentFacts& facts = introduction.facts;
  facts.agent = 3;
  facts.cores = {4, 5};
  facts.assigned = plan::AssignedRank{3, 1, 4, 2};
  facts.nproc_per_node = "2";
  plan::CudaDevice device;
  device.uuid = "GPU-1";
  device.instances = {device};
  facts.topology.devices = {device};
  facts.topology.visible.devices = {{"0", device}};
  facts.topology.host.quota_cores = 1.5;
  facts.topology.host.widens_bfloat16 = true;
  std::string line = encode_message(introduction);
  line.pop_back();
  const auto back = decode_message(line);
  REQUIRE(back);
  CHECK(std::get<Introduction>(*back).model.folder == "/model");
  CHECK(std::get<Introduction>(*back).model.files.at("model.safetensors") == "its mark");
  const plan::AgentFacts& read = std::get<Introduction>(*back).facts;
  CHECK(read.assigned == facts.assigned);
  CHECK(read.cores == facts.cores);
  CHECK(read.nproc_per_node == "2");
  CHECK(read.topology.visible.devices.at(0).device.instances.at(0).uuid == "GPU-1");
  CHECK(read.topology.host.quota_cores == 1.5);
  CHECK(read.topology.host.widens_bfloat16);
  CHECK_FALSE(read.topology.host.requested_threads);
}

TEST_CASE("what an agent sees of its workers reaches another whole") {
  WorkersSeen seen;
  WorkerSnapshot& snapshot = seen.snapshots["3"];
  snapshot.process.state = 'T';
  snapshot.process.cpu_seconds = 1.5;
  snapshot.has_status = true;
  snapshot.status.phase = WorkPhase::kSaving;
  snapshot.status.step = 7;
  snapshot.status.operations = 12;
  snapshot.status.operation = "all_reduce";
  snapshot.status.stack = "frame\nframe";
  snapshot.status.crash = CrashNote{11, 1, 0xffffffffffffffff, "/data/x.bin"};
  std::string line = encode_message(seen);
  line.pop_back();
  const auto back = decode_message(line);
  REQUIRE(back);
  const WorkerSnapshot& read = std::get<WorkersSeen>(*back).snapshots.at("3");
  CHECK(read.process.stopped());
  CHECK(read.process.cpu_seconds == 1.5);
  CHECK(read.has_status);
  CHECK(read.status.phase == WorkPhase::kSaving);
  CHECK(read.status.same_place(snapshot.status));
  CHECK(read.status.stack == snapshot.status.stack);
  CHECK(read.status.crash == snapshot.status.crash);
}

TEST_CASE("what is no message is not taken for one") {
  for (const char* line :
       {"", "{}", "[]", "null", "GET / HTTP/1.1", R"({"message":"nothing"})", R"({"message":3})",
        R"({"message":"stop_received"})", R"({"message":"stop_received","signal":"x"})"}) {
    INFO(line);
    CHECK_FALSE(decode_message(line));
  }
}

TEST_CASE("a failure goes to another agent with all its mistakes and their four parts") {
  const Error one = Error(ExitCode::kDisk, "what").where("where").why("why").hint("hint");
  Diagnostic second = one.diagnostics().front();
  second.what = "more";
  for (const Error& error : {one, Error(ExitCode::kUsage, {one.diagnostics().front(), second})}) {
    std::string line = encode_message(failure_of(error));
    line.pop_back();
    const auto received = decode_message(line);
    REQUIRE(received);
    const Error back = error_of(std::get<AgentFailed>(*received));
    CHECK(back.code() == error.code());
    CHECK(back.render() == error.render());
  }
  CHECK(error_of(AgentFailed{.exit_code = 77, .mistakes = {second}}).code() == ExitCode::kInternal);
  CHECK(error_of(AgentFailed{.exit_code = 4, .mistakes = {}}).code() == ExitCode::kData);
  // A failure is never the code of a run that ended well.
  for (const int code : {0, 130, 143})
    CHECK(error_of(AgentFailed{.exit_code = code, .mistakes = {}}).code() == ExitCode::kInternal);
}

TEST_CASE("a link carries what does not fit into the socket's buffer") {
  auto [left, right] = linked();
  const std::string long_text(3'000'000, 'x');
  left.send(AgentNotice{long_text});
  CHECK(left.wants_to_write());
  std::vector<Message> at_right, at_left;
  while (at_right.empty()) {
    right.work(at_right);
    left.work(at_left);
  }
  CHECK(std::get<AgentNotice>(at_right.front()).text == long_text);
  CHECK_FALSE(left.wants_to_write());
}

TEST_CASE("a link says why it ended") {
  std::vector<Message> received;
  {
    auto [left, right] = linked();
    left.send(Heartbeat{1});
    left.send(StopReceived{15});
    left.finish_sending();
    right.work(received);
    CHECK(received.size() == 1);  // heartbeats are no news
    CHECK(right.end() == "it closed the connection");
  }
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  const FileDescriptor raw(ends[0]);
  ControlLink link{FileDescriptor(ends[1])};
  CHECK(::write(raw.get(), "hello\n", 6) == 6);
  link.work(received);
  CHECK(link.end() == "what it sent is no message of this program");
}

TEST_CASE("a link is silent for too long only after eight seconds without a word, and beats every second") {
  auto [left, right] = linked();
  const double now = left.next_tick() - ControlLink::kHeartbeatSeconds;
  tick_until(left, now, now + silence_seconds(2) - 0.1);
  CHECK(left.open());
  std::vector<Message> received;
  right.work(received);
  CHECK(received.empty());
  CHECK(right.open());
  left.tick(now + silence_seconds(2) + 0.1);
  CHECK_FALSE(left.open());
  CHECK(left.end().find("no word from it for") == 0);
}

TEST_CASE("who was not run itself for a while has missed nobody, and counts silence from then on") {
  auto [left, right] = linked();
  const double now = left.next_tick(), later = now + 3600;
  left.tick(now);
  left.tick(later);  // its job was suspended
  CHECK(left.open());
  tick_until(left, later, later + silence_seconds(2) - 0.1);
  CHECK(left.open());
  left.tick(later + silence_seconds(2) + 0.1);
  CHECK(left.end() == "no word from it for 0:00:08; 0:00:08 are allowed in a job of 2 front programs");
}

TEST_CASE("the limit of silence grows with the number of agents, and is named when one is lost") {
  CHECK(silence_seconds(2) == 8);
  CHECK(silence_seconds(100) == 8);
  CHECK(silence_seconds(1000) == 26);
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  const FileDescriptor other(ends[0]);
  ControlLink link(FileDescriptor(ends[1]), 1000);
  const double now = link.next_tick();
  tick_until(link, now, now + 20);
  CHECK(link.open());
  tick_until(link, now + 20, now + 26);
  CHECK(link.end() == "no word from it for 0:00:26; 0:00:26 are allowed in a job of 1000 front programs");
}

TEST_CASE("a line that is longer than allowed ends a connection before it is looked at") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  const FileDescriptor raw(ends[0]);
  LineSocket socket(FileDescriptor(ends[1]), 100, 8);
  const std::string line(99, 'x');
  CHECK(::write(raw.get(), (line + '\n').data(), 100) == 100);
  socket.work();
  CHECK(socket.next_line() == line);
  CHECK_FALSE(socket.next_line());
  CHECK(socket.open());
  CHECK(::write(raw.get(), (line + line).data(), 198) == 198);
  socket.work();
  CHECK_FALSE(socket.next_line());
  CHECK(socket.end() == "what it sent is longer than anything that this program says");
}

TEST_CASE("text of others does not act on a terminal") {
  std::string line =
      encode_message(AgentNotice{"a\x1b]0;title\x07 b\nc\td \xc2\x9b"
                                 "31m \xe2\x80\xae ü"});
  line.pop_back();
  CHECK(std::get<AgentNotice>(decode_message(line).value()).text ==
        "a\\x1b]0;title\\x07 b\nc\td \\x9b31m \\u202e ü");
  line = encode_message(Hello{.job_id = "", .host = "node\nerror: no"});
  line.pop_back();
  CHECK(std::get<Hello>(decode_message(line).value()).host == "node\\x0aerror: no");
  // What programs compare is not touched.
  line = encode_message(LookForFolder{"/data/\x01", "mark"});
  line.pop_back();
  CHECK(std::get<LookForFolder>(decode_message(line).value()).path == "/data/\x01");
}

TEST_CASE("an announcement is one line that leads to every address") {
  HubSpec spec;
  spec.hello.agents = 2;
  const ControlHub hub(std::move(spec));
  const std::string text = hub.announcement("abc");
  CHECK(text.find_first_of(" \n") == std::string::npos);
  const Announcement read = read_announcement(text);
  CHECK(read.token == "abc");
  REQUIRE_FALSE(read.endpoints.empty());
  for (const Endpoint& endpoint : read.endpoints) CHECK(endpoint.port == hub.port());
  CHECK_REFUSED(read_announcement("abc|def"), "what was said of node 0's address cannot be read");
  CHECK_REFUSED(read_announcement(""), "what was said of node 0's address cannot be read");
}

TEST_CASE("a failure without a word is still told") {
  const AgentFailed failure{3, {Diagnostic{}, Diagnostic{}}};
  CHECK(error_of(failure).code() == ExitCode::kEnvironment);
  CHECK(error_of(failure).render().find("gave no reason") != std::string::npos);
}

}  // namespace hftrain::launcher
