#include "launcher/ssh/host_file.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "contains.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/shell.h"
#include "launcher/control/job_secret.h"
#include "launcher/ssh/host_job.h"
#include "launcher/ssh/machine_start.h"
#include "resident_bytes.h"
#include "support/catch.h"
#include "support/fork.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::launcher {
namespace {

using arguments::LaunchArguments;
using arguments::Origins;
using testing::contains;
using Words = std::vector<std::string>;

template <typename Action>
std::string refusal_in(Action action, ExitCode code = ExitCode::kUsage) {
  try {
    action();
  } catch (const Error& error) {
    return error.code() == code ? error.render() : "wrong exit code: " + error.render();
  }
  return "";
}

const std::vector<Host> kTwo = {{"worker-0", {0, 1, 2, 3}, false}, {"worker-1", {0, 1, 2, 3}, false}};

std::vector<Host> chosen(const std::string& include, const std::string& exclude, int64_t nodes = -1) {
  LaunchArguments launch;
  launch.include = include;
  launch.exclude = exclude;
  launch.num_nodes = nodes;
  return choose_hosts(kTwo, launch, "hosts");
}

Origins origins_of(const std::map<std::string, std::string>& given) {
  Origins origins;
  origins.set("hostfile", "--hostfile");
  for (const auto& [flag, origin] : given) origins.set(flag, origin);
  return origins;
}

std::vector<MachineStart> starts(const LaunchArguments& launch, const Origins& origins,
                                 const std::vector<Host>& hosts = kTwo, const Environment& environment = {}) {
  return machine_starts(hosts, {{"--seed", "1"}, launch, origins, environment, {}, 21000});
}

Environment one_variable(const std::string& name, const std::string& value) {
  Environment environment;
  environment.set(name, value);
  return environment;
}

// A remote shell that stays on this machine: runs the command, except for the hosts "bad" and "slow".
struct Cluster {
  testing::TemporaryDirectory folder;
  HostJobSpec spec;

  Cluster() {
    const std::string shell = folder / "shell";
    std::ofstream(shell) << "#!/bin/sh\nhost=$1\nshift\n"
                            "[ \"$host\" = bad ] && { echo \"no route to $host\" >&2; exit 255; }\n"
                            "[ \"$host\" = slow ] && exec sleep 60\n"
                            "echo \"welcome to $host\"\nexec sh -c \"$*\"\n";
    ::chmod(shell.c_str(), 0755);
    spec.program = testing::program("dummy_front");
    spec.directory = folder.path();
    spec.environment = Environment::of_process();
    spec.environment.set("HFTRAIN_SSH", shell);
    spec.ending_seconds = 60;
  }
  void add(const std::string& host, Words words, bool here = false,
           std::map<std::string, std::string> environment = {}) {
    spec.machines.push_back({host, std::move(words), std::move(environment)});
    spec.here.push_back(here);
  }
};

struct Watcher : HostJobObserver {
  std::map<size_t, std::string> out, err;
  std::vector<std::string> notices;
  std::function<void(Watcher&)> on_change;

  void on_output(size_t machine, Stream stream, std::string_view bytes) override {
    (stream == Stream::kOut ? out : err)[machine].append(bytes);
    if (on_change) on_change(*this);
  }
  void on_notice(const std::string& text) override { notices.push_back(text); }
};

// Waits for the end of a process that is not ours.
bool ends(pid_t pid) {
  const FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return true;
  pollfd ready{process.get(), POLLIN, 0};
  constexpr int kOnlyAHangTakesLonger = 60'000;
  return ::poll(&ready, 1, kOnlyAHangTakesLonger) == 1;
}

}  // namespace

TEST_CASE("a host file has a name and slots per line") {
  const std::vector<Host> hosts =
      parse_host_file("# ours\nworker-0 slots=4\n\n  worker-1   slots=2 # half\n", "h");
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0] == Host{"worker-0", {0, 1, 2, 3}, false});
  CHECK(hosts[1] == Host{"worker-1", {0, 1}, false});
  CHECK(parse_host_file("\xEF\xBB\xBFworker-0 slots=4\n", "h").at(0) == hosts[0]);  // as Windows writes it
}

TEST_CASE("L11: every line of a host file that cannot be is named") {
  const std::string text = refusal_in([] {
    parse_host_file(
        "worker-0 slots=4\nworker-1\nworker-0 slots=2\nworker-2 slots=x\nworker-3 slots=0\na b slots=1\n",
        "hosts");
  });
  CHECK(contains(
      text, "this line of the host file is not 'name slots=N'\n  where: hosts:2\n  why: it is 'worker-1'"));
  CHECK(contains(text, "host worker-0 stands twice in the host file\n  where: hosts:3"));
  for (const char* place : {"hosts:4", "hosts:5", "hosts:6"}) CHECK(contains(text, place));
  CHECK(contains(refusal_in([] { parse_host_file("# nothing\n\n", "hosts"); }),
                 "the host file names no machine"));
  LaunchArguments missing;
  missing.hostfile = "/nowhere/hosts";
  CHECK(contains(refusal_in([&] { read_hosts(missing); }), "/nowhere/hosts"));
}

TEST_CASE("a name that the remote shell would take for an option starts nothing") {
  for (const char* name : {"-oProxyCommand=touch", "--", "-", "user@-l"}) {
    const std::string said =
        refusal_in([&] { parse_host_file(std::string("a slots=1\n") + name + " slots=1\n", "hosts"); });
    INFO(said);
    const std::string how = name[0] == '-' ? "begins with '-'" : "names a machine that begins with '-'";
    CHECK(contains(said, std::string("the name '") + name + "' in the host file " + how));
    CHECK(contains(said, "hosts:2"));
  }
  CHECK(parse_host_file("user@host-1 slots=1\n", "hosts").size() == 1);
  CHECK(
      contains(refusal_in([] { parse_host_file("\x1b[2J slots=x", "hosts"); }), "it is '\\x1b[2J slots=x'"));
  CHECK(contains(refusal_in([] { parse_host_file("a\x1b[2Jb slots=1", "hosts"); }),
                 "it is 'a\\x1b[2Jb slots=1'"));
  CHECK(contains(refusal_in([] { chosen("a\x1b[2Jb", ""); }), "there is no host 'a\\x1b[2Jb' in it"));
}

static Environment with_secret(const std::string& secret) {
  Environment environment;
  environment.set("HFTRAIN_JOB_SECRET", secret);
  return environment;
}

TEST_CASE("the secret of a job comes from a file of mode 0600, else from the environment") {
  const hftrain::testing::TemporaryDirectory folder;
  LaunchArguments launch;
  CHECK(job_secret(launch, {}).empty());
  CHECK(job_secret(launch, with_secret(" from here\n")) == "from here");
  CHECK(contains(refusal_in([&] { job_secret(launch, with_secret(" ")); }), "is empty"));
  const std::string path = folder / "secret";
  launch.rdzv_conf = "join_timeout=3, secret_file=" + path;
  CHECK(contains(refusal_in([&] { job_secret(launch, {}); }), "No such file"));
  std::ofstream(path) << "from there\n";
  for (const mode_t mode : {0644, 0640, 0620, 0606}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK(contains(refusal_in([&] { job_secret(launch, {}); }), "others may read or write it"));
  }
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  CHECK(job_secret(launch, with_secret("from here")) == "from there");
  std::ofstream(path) << "\n";
  CHECK(contains(refusal_in([&] { job_secret(launch, {}); }), "it is empty"));
  std::ofstream(path) << std::string(5000, 'x');
  CHECK(contains(refusal_in([&] { job_secret(launch, {}); }), "longer than 4096 bytes"));
  launch.rdzv_conf = "secret_file=" + folder.path();
  CHECK(contains(refusal_in([&] { job_secret(launch, {}); }), "no regular file"));
}

TEST_CASE("include, exclude and num_nodes choose hosts and slots") {
  CHECK(chosen("", "") == kTwo);
  CHECK(chosen("worker-1", "") == std::vector<Host>{kTwo[1]});
  CHECK(chosen("worker-1:2,0@worker-0", "") == std::vector<Host>{kTwo[0], {"worker-1", {0, 2}, true}});
  CHECK(chosen("", "worker-0") == std::vector<Host>{kTwo[1]});
  CHECK(chosen("", "worker-0:1@worker-1:0,3") ==
        std::vector<Host>{{"worker-0", {0, 2, 3}, true}, {"worker-1", {1, 2}, true}});
  CHECK(chosen("", "", 1) == std::vector<Host>{kTwo[0]});
  CHECK(contains(refusal_in([] { chosen("worker-2", ""); }), "there is no host 'worker-2' in it"));
  CHECK(
      contains(refusal_in([] { chosen("worker-1:4", ""); }), "host worker-1 has the slots 0 to 3, not '4'"));
  CHECK(contains(refusal_in([] { chosen("", "worker-0@worker-1"); }), "no machine of the host file is left"));
  CHECK(contains(refusal_in([] { chosen("", "", 3); }), "the host file has fewer machines than num_nodes"));
}

TEST_CASE("every machine gets the command line and its place") {
  const auto machines = starts({}, origins_of({}));
  REQUIRE(machines.size() == 2);
  CHECK(machines[1].host == "worker-1");
  CHECK(machines[1].arguments == Words{"--seed", "1", "--nnodes", "2", "--node_rank", "1", "--master_addr",
                                       "worker-0", "--master_port", "21000", "--nproc_per_node", "4"});
  CHECK(machines[1].environment == std::map<std::string, std::string>{{"HFTRAIN_HOSTED", "1"}});
  const auto one = starts({}, origins_of({}), {{"worker-0", {1, 3}, true}});
  CHECK(one[0].arguments == Words{"--seed", "1", "--nproc_per_node", "2"});
  CHECK(one[0].environment.at("CUDA_VISIBLE_DEVICES") == "1,3");
}

TEST_CASE("what the user says about machines must fit the host file") {
  LaunchArguments launch;
  launch.master_addr = "10.0.0.1";
  launch.master_port = 5000;
  launch.nproc_per_node = "2";
  const Words words =
      starts(launch, origins_of({{"master_addr", "--master_addr"}, {"master_port", "--master_port"}}))[0]
          .arguments;
  CHECK(Words(words.end() - 6, words.end()) ==
        Words{"--master_addr", "10.0.0.1", "--master_port", "5000", "--nproc_per_node", "2"});
  launch.nproc_per_node = "5";
  CHECK(contains(refusal_in([&] { starts(launch, origins_of({})); }),
                 "there are more ranks than slots on worker-0"));
  const std::vector<Host> two_slots = {{"worker-0", {1, 3}, true}};
  launch.nproc_per_node = "1";
  const Origins on_the_line = origins_of({{"nproc_per_node", "--nproc_per_node"}});
  CHECK(contains(refusal_in([&] { starts(launch, on_the_line, two_slots); }),
                 "nproc_per_node and the slots of worker-0 say two different things"));
  CHECK(starts(launch, origins_of({}), two_slots)[0].arguments.back() == "2");  // a file's, of all machines
  launch.nproc_per_node = "2";
  CHECK(starts(launch, origins_of({}), two_slots)[0].arguments.back() == "2");
  launch = {};
  launch.nnodes = "3";
  CHECK(contains(refusal_in([&] {
                   starts(launch, origins_of({{"nnodes", "run.yaml:1:9"}}));
                 }),
                 "why: nnodes is 3, and the host file leaves 2"));
  launch.nnodes = "2";
  CHECK(starts(launch, origins_of({{"nnodes", "--nnodes"}})).size() == 2);
  CHECK(contains(refusal_in([&] {
                   starts({}, origins_of({{"node_rank", "--node_rank"}}));
                 }),
                 "node_rank and hostfile exclude each other"));
  CHECK(starts({}, origins_of({{"node_rank", "acc.yaml:3:4"}})).size() == 2);
  CHECK(contains(refusal_in([&] {
                   starts({}, origins_of({}), {{"localhost", {0}, false}, {"b", {0}, false}});
                 }),
                 "localhost is another machine on every machine"));
}

TEST_CASE("no_ssh takes the numbers of machines and ranks from the host file") {
  LaunchArguments launch;
  launch.no_ssh = true;
  launch.node_rank = 1;
  Origins origins = origins_of({{"node_rank", "--node_rank"}});
  CHECK(counts_hosts(launch, origins));
  CHECK_FALSE(starts_hosts(launch, origins, {}));
  CHECK_FALSE(take_from_hosts(kTwo, launch, origins));
  CHECK(launch.nnodes == "2");
  CHECK(launch.master_addr == "worker-0");
  CHECK(launch.nproc_per_node == "4");
  // A filter's slots are GPUs here as they are on machines that ssh has started.
  launch.nproc_per_node.reset();
  CHECK(take_from_hosts({kTwo[0], {"worker-1", {0, 2}, true}}, launch, origins) == "0,2");
  CHECK(launch.nproc_per_node == "2");
  const std::vector<Host> chosen = {kTwo[0], {"worker-1", {0, 2}, true}};
  launch.nproc_per_node = "4";  // what a file says of all machines together
  CHECK(take_from_hosts(chosen, launch, origins) == "0,2");
  CHECK(launch.nproc_per_node == "2");
  launch.nproc_per_node = "4";
  Origins on_the_line = origins_of({{"nproc_per_node", "--nproc_per_node"}});
  CHECK(contains(refusal_in([&] { take_from_hosts(chosen, launch, on_the_line); }), "two different things"));
  launch.node_rank = 2;
  CHECK(contains(refusal_in([&] { take_from_hosts(kTwo, launch, origins); }),
                 "node_rank 2 is not in the host file"));
  // The others are to be told, so they are known by then.
  LaunchArguments wrong;
  wrong.no_ssh = true;
  wrong.node_rank = 2;
  Origins given = origins_of({{"node_rank", "--node_rank"}});
  CHECK(contains(refusal_in([&] { take_from_hosts(kTwo, wrong, given); }),
                 "node_rank 2 is not in the host file"));
  CHECK(wrong.nnodes == "2");
  CHECK(wrong.master_addr == "worker-0");
}

TEST_CASE("the host file starts machines once") {
  LaunchArguments launch;
  CHECK(starts_hosts(launch, origins_of({}), {}));
  CHECK_FALSE(starts_hosts(launch, Origins(), {}));
  CHECK_FALSE(starts_hosts(launch, origins_of({}), one_variable("HFTRAIN_HOSTED", "1")));
  launch.launcher = "openmpi";  // mpirun has started us
  CHECK_FALSE(starts_hosts(launch, origins_of({}), {}));
}

TEST_CASE("variables of libraries go to every machine, others do not") {
  const Environment environment({{"NCCL_DEBUG", "INFO"},
                                 {"OMP_NUM_THREADS", "2"},
                                 {"HFTRAIN_CACHE", "/c"},
                                 {"HFTRAIN_SSH", "x"},
                                 {"HOME", "/root"},
                                 {"RANK", "1"}});
  CHECK(variables_to_pass(environment) == std::map<std::string, std::string>{{"NCCL_DEBUG", "INFO"},
                                                                             {"OMP_NUM_THREADS", "2"},
                                                                             {"HFTRAIN_CACHE", "/c"}});
  CHECK(parse_environment_file("# x\nA=1\n\nB=x=y \n", "f") ==
        std::map<std::string, std::string>{{"A", "1"}, {"B", "x=y"}});
  CHECK(contains(refusal_in([] { parse_environment_file("A=1\nB\n", "f"); }), "where: f:2"));
}

TEST_CASE("variables of every tracker and of LibTorch's memory go to every machine, wherever rank 0 is") {
  for (const char* name : {"WANDB_PROJECT", "MLFLOW_TRACKING_URI", "TRACKIO_DIR", "PYTORCH_ALLOC_CONF",
                           "PYTORCH_CUDA_ALLOC_CONF", "TORCH_CPP_LOG_LEVEL"}) {
    INFO(name);
    CHECK(variables_to_pass(one_variable(name, "1")).contains(name));
  }
}

TEST_CASE("every variable that counts for a flag goes to every machine") {
  for (const char* name : {"TRANSFORMERS_VERBOSITY", "TRANSFORMERS_NO_ADVISORY_WARNINGS", "PET_MAX_RESTARTS",
                           "TENSORBOARD_LOGGING_DIR", "ACCELERATE_MIXED_PRECISION", "FSDP_VERSION",
                           "PARALLELISM_CONFIG_TP_SIZE"}) {
    INFO(name);
    CHECK(variables_to_pass(one_variable(name, "1")).contains(name));
  }
  for (const char* name : {"DS_ENV_FILE", "HFTRAIN_HOSTED", "MASTER_ADDR", "TORCHELASTIC_RUN_ID"}) {
    INFO(name);
    CHECK(variables_to_pass(one_variable(name, "1")).empty());
  }
}

TEST_CASE("the remote shell is ssh, or what HFTRAIN_SSH names") {
  LaunchArguments launch;
  CHECK(remote_shell(launch, {}, "w", "c") ==
        Words{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8", "-T", "w", "c"});
  launch.ssh_port = 2222;
  launch.launcher_args = "-i key  -v";
  CHECK(remote_shell(launch, one_variable("HFTRAIN_SSH", "in ns"), "w", "c") ==
        Words{"in", "ns", "-p", "2222", "-i", "key", "-v", "w", "c"});
  CHECK(shell_quoted("a'b c") == "'a'\\''b c'");
  CHECK(shell_quoted("/a/b-1.0_c") == "/a/b-1.0_c");
  CHECK(shell_quoted("") == "''");
}

TEST_CASE("an order is one line that comes back as it was") {
  const MachineStart machine{"w", {"--run_name", "a 'b'\n\"c\" $d", ""}, {{"X", "y\nz"}}};
  const std::string line = order_line(machine, "/some folder");
  CHECK(line.find('\n') == line.size() - 1);
  const Order order = parse_order(line);
  CHECK(order.arguments == machine.arguments);
  CHECK(order.environment == machine.environment);
  CHECK(order.directory == "/some folder");
  CHECK(contains(refusal_in([] { parse_order("hello"); }), "not by hand"));
}

TEST_CASE("this machine is known by its names and addresses") {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  CHECK(is_this_machine(name));
  CHECK(is_this_machine("localhost"));
  CHECK(is_this_machine("127.0.0.1"));
  CHECK_FALSE(is_this_machine("192.0.2.77"));
  CHECK_FALSE(is_this_machine("no-such-machine.invalid"));
}

TEST_CASE("front programs run here and there, and words arrive as they were", "[process]") {
  Cluster cluster;
  const std::string awkward = "a 'b'\n\"c\" $HOME \\ *";
  cluster.add("one", {"say", awkward, ""}, true, {{"HFTRAIN_HOSTED", "1"}});
  cluster.add("two", {"say", awkward, "x"}, false, {{"CUDA_VISIBLE_DEVICES", "0,2"}});
  cluster.add("three", {"exit", "0"});
  check_connections(cluster.spec);
  Watcher watcher;
  CHECK(HostJob(cluster.spec, watcher).run() == ExitCode::kDone);
  CHECK(contains(watcher.out[0], "<" + awkward + ">\n<>\nHFTRAIN_HOSTED=1\n"));
  CHECK(watcher.out[1].starts_with("<" + awkward + ">\n<x>\n"));
  CHECK(contains(watcher.out[1], "CUDA_VISIBLE_DEVICES=0,2"));
  CHECK(watcher.err[2] == "ending\n");
  CHECK(watcher.notices.empty());
}

TEST_CASE("what a login shell writes before the front program is there takes no room", "[process]") {
  Cluster cluster;
  const std::string loud = cluster.folder / "loud";
  std::ofstream(loud) << "#!/bin/sh\nshift\nhead -c 67108864 /dev/zero\nexec sh -c \"$*\"\n";
  ::chmod(loud.c_str(), 0755);
  cluster.spec.environment.set("HFTRAIN_SSH", loud);
  cluster.add("one", {"say", "word"});
  Watcher watcher;
  int64_t more = 0;
  watcher.on_change = [&more, before = testing::resident_bytes()](Watcher&) {
    more = std::max(more, testing::resident_bytes() - before);
  };
  CHECK(HostJob(cluster.spec, watcher).run() == ExitCode::kDone);
  CHECK(contains(watcher.out[0], "<word>"));
  INFO(more);
  CHECK(more < int64_t{16} << 20);
}

TEST_CASE("the first machine's exit code counts, then the first other one", "[process]") {
  const auto code = [](const char* first, const char* second, bool here) {
    Cluster cluster;
    cluster.add("one", {"exit", first}, here);
    cluster.add("two", {"exit", second});
    Watcher watcher;
    return static_cast<int>(HostJob(cluster.spec, watcher).run());
  };
  CHECK(code("9", "9", true) == 9);
  CHECK(code("143", "9", false) == 143);
  CHECK(code("0", "4", true) == 4);
}

TEST_CASE("machines that cannot be reached are all named before anything starts", "[process][alone]") {
  Cluster cluster;
  cluster.add("one", {"exit", "0"}, true);
  cluster.add("bad", {"exit", "0"});
  cluster.add("slow", {"exit", "0"});
  cluster.spec.check_seconds = 3;  // enough to hear of the bad one
  const std::string text = refusal_in([&] { check_connections(cluster.spec); }, ExitCode::kEnvironment);
  CHECK(contains(text,
                 "machine bad cannot be reached\n  where: --hostfile, machine 1\n  why: no route to bad"));
  CHECK(contains(text,
                 "machine slow cannot be reached\n  where: --hostfile, machine 2\n  why: no answer within"));
  CHECK_FALSE(contains(text, "machine one"));
  const size_t slow = text.find("machine slow");
  CHECK_FALSE(contains(text.substr(0, slow), "--no_ssh_check"));
  CHECK(contains(text.substr(slow), "--no_ssh_check starts without this check"));
}

TEST_CASE("a connection that is lost while machines run is named, with what keeps one", "[process]") {
  const auto lost = [](const std::string& end, const char* first_code) {
    Cluster cluster;
    const std::string shell = cluster.folder / "dropping";
    std::ofstream(shell) << "#!/bin/sh\nhost=$1\nshift\n"
                            "[ \"$host\" = two ] || exec sh -c \"$*\"\n"
                            "sh -c \"$*\"\necho \"client_loop: send disconnect: Broken pipe\" >&2\n" +
                                end + '\n';
    ::chmod(shell.c_str(), 0755);
    cluster.spec.environment.set("HFTRAIN_SSH", shell);
    cluster.add("one", {"exit", first_code}, true);
    cluster.add("two", {"exit", "0"});
    Watcher watcher;
    return refusal_in([&] { HostJob(cluster.spec, watcher).run(); }, ExitCode::kWorkerLost);
  };
  const std::string text = lost("exit 255", "9");
  CHECK(contains(
      text,
      "the connection to two was lost\n  where: --hostfile, machine 1\n  why: the remote shell ended with "
      "code 255 ("));
  CHECK(contains(text, "Broken pipe), and what ran there ends with it"));
  CHECK(contains(text, "ServerAliveInterval"));
  CHECK(contains(lost("exit 255", "0"), "the connection to two was lost"));
  CHECK(contains(lost("kill -9 $$", "0"), "was ended by signal 9"));
  CHECK(lost("exit 0", "9").empty());
  CHECK(lost("exit 255", "4").empty());  // the first machine ended by itself, and says why
}

TEST_CASE("a front program that cannot be started on a machine ends the start", "[process]") {
  Watcher watcher;
  {
    Cluster cluster;
    cluster.add("bad", {"exit", "0"});
    CHECK(contains(
        refusal_in([&] { HostJob(cluster.spec, watcher).run(); }, ExitCode::kEnvironment),
        "hftrain could not be started on bad\n  where: --hostfile, machine 0\n  why: no route to bad"));
  }
  Cluster cluster;
  cluster.spec.program = "/nowhere/hftrain";
  cluster.add("two", {"exit", "0"});
  CHECK(contains(refusal_in([&] { HostJob(cluster.spec, watcher).run(); }, ExitCode::kEnvironment),
                 "install hftrain there at the same path: /nowhere/hftrain"));
  Cluster elsewhere;
  elsewhere.spec.directory = "/nowhere/folder";
  elsewhere.add("two", {"exit", "0"});
  CHECK(contains(refusal_in([&] { HostJob(elsewhere.spec, watcher).run(); }, ExitCode::kEnvironment),
                 "there is no folder /nowhere/folder on this machine"));
}

TEST_CASE("signals go to the first machine, here or there", "[process]") {
  for (const bool here : {true, false}) {
    Cluster cluster;
    const std::string file = cluster.folder / "pid";
    cluster.spec.environment.set("WAIT_FILE", file);
    cluster.add("one", {"wait"}, here, {{"WAIT_FILE", file}});
    Watcher watcher;
    watcher.on_change = [](Watcher& self) {
      if (contains(self.out[0], "waiting")) ::kill(::getpid(), SIGTERM);
    };
    CHECK(static_cast<int>(HostJob(cluster.spec, watcher).run()) == 100 + SIGTERM);
  }
}

// `hftrain hosted` on another machine, as the starter's remote shell has started it.
struct HostedFront {
  testing::TemporaryDirectory folder;
  std::string file = folder / "pid";
  std::string out;
  RelayedProcess process{{testing::program("dummy_front"), "hosted"},
                         Environment::of_process(),
                         [this](Stream, std::string_view bytes) { out.append(bytes); }};

  explicit HostedFront(Words words) {
    process.say(order_line({"there", std::move(words), {{"WAIT_FILE", file}}}, folder.path()));
  }
  // The front program's process id, once it waits.
  pid_t front() const {
    while (!std::filesystem::exists(file) || read_file(file).empty()) ::poll(nullptr, 0, 10);
    return std::stoi(read_file(file));
  }
  int finish() {
    while (!process.status()) {
      std::vector<pollfd> watched;
      process.append_descriptors(watched);
      ::poll(watched.data(), watched.size(), -1);
      process.read_ready();
    }
    return process.status()->signal != 0 ? -process.status()->signal : process.status()->code;
  }
};

TEST_CASE("a stop signal that reaches `hosted` alone is the front program's, and kills it not", "[process]") {
  HostedFront hosted({"wait"});
  hosted.front();
  hosted.process.send(SIGTERM);
  CHECK(hosted.finish() == 100 + SIGTERM);
}

TEST_CASE("signals and the end reach a front program whose output nobody takes", "[process]") {
  // More than the pipes on the way hold.
  HostedFront hosted({"talk", "400000"});
  const pid_t front = hosted.front();
  hosted.process.say("signal " + std::to_string(SIGUSR1) + '\n');
  CHECK(ends(front));
  CHECK(hosted.finish() == 100 + SIGUSR1);
  CHECK(std::count(hosted.out.begin(), hosted.out.end(), 'x') == 400'000);

  // Neither what it cannot say nor the back-pressure on it keeps it from ending with the connection.
  HostedFront talks({"talk", "40000000"});
  ::poll(nullptr, 0, 300);
  talks.process.close_input();
  CHECK(talks.finish() == 9);
}

TEST_CASE("a starter whose terminal takes no text leaves output in the pipes and still passes signals on",
          "[process]") {
  Cluster cluster;
  const std::string file = cluster.folder / "pid";
  cluster.add("one", {"talk", "3000000"}, true, {{"WAIT_FILE", file}});
  struct SlowReader : Watcher {
    bool is_behind() const override { return out.contains(0) && !stopped; }
    void on_stop() override { stopped = true; }
    bool stopped = false;
  };
  SlowReader watcher;
  std::jthread later;  // a reader that took what comes would have all of it by then
  watcher.on_change = [&later](Watcher&) {
    if (later.joinable()) return;
    later = std::jthread([] {
      ::poll(nullptr, 0, 500);
      ::kill(::getpid(), SIGUSR1);
    });
  };
  CHECK(static_cast<int>(HostJob(cluster.spec, watcher).run()) == 100 + SIGUSR1);
  CHECK(watcher.stopped);
  CHECK(watcher.out[0].size() < 2'500'000);
}

TEST_CASE("a machine that does not end with the others is ended", "[process]") {
  Cluster cluster;
  const std::string file = cluster.folder / "pid";
  cluster.spec.ending_seconds = 0.2;
  cluster.add("one", {"exit", "3"}, true);
  cluster.add("two", {"wait"}, false, {{"WAIT_FILE", file}});
  Watcher watcher;
  CHECK(HostJob(cluster.spec, watcher).run() == ExitCode::kEnvironment);
  REQUIRE(watcher.notices.size() == 1);
  CHECK(contains(watcher.notices[0], "ending what is left of the run on two"));
}

TEST_CASE("front programs die with the starter, here and there", "[process]") {
  for (const bool here : {true, false}) {
    Cluster cluster;
    const std::string file = cluster.folder / "pid";
    cluster.add("one", {"wait"}, here, {{"WAIT_FILE", file}});
    Pipe started = make_pipe();
    const pid_t starter = testing::fork_child();
    if (starter == 0) {
      Watcher watcher;
      watcher.on_change = [&](Watcher& self) {
        if (contains(self.out[0], "waiting")) CHECK(::write(started.writing.get(), "x", 1) == 1);
      };
      HostJob(cluster.spec, watcher).run();
      ::_exit(0);
    }
    started.writing.reset();
    pollfd ready{started.reading.get(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, 60'000) == 1);
    const pid_t front = std::stoi(read_file(file));
    ::kill(starter, SIGKILL);
    ::waitpid(starter, nullptr, 0);
    CHECK(ends(front));
  }
}

}  // namespace hftrain::launcher
