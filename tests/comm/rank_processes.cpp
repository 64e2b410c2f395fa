#include "comm/rank_processes.h"

#include <ATen/Parallel.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "comm/rank_spawn.h"
#include "support/catch.h"
#include "support/fork.h"
#include "support/temporary_directory.h"

namespace hftrain::testing {
namespace {

std::map<std::string, std::function<void(const Rank&)>>& bodies() {
  static std::map<std::string, std::function<void(const Rank&)>> registered;
  return registered;
}

// Names a file in which run_ranks writes the name of each body, and starts nothing.
constexpr const char* kNamesOnly = "TEST_NAMES_OF_BODIES";

std::vector<RankOutcome> only_name(const std::string& body, int world_size, const std::string& file) {
  std::ofstream(file, std::ios::app) << body << '\n';
  return std::vector<RankOutcome>(static_cast<size_t>(world_size), RankOutcome{.exit_status = 0});
}

}  // namespace

bool only_names_bodies() {
  return Environment::of_process().get(kNamesOnly).has_value();
}

ListeningSocket listen_on_loopback() {
  ListeningSocket result{FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), 0};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  REQUIRE(::bind(result.fd.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
  REQUIRE(::listen(result.fd.get(), 64) == 0);
  REQUIRE(::getsockname(result.fd.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
  result.port = ntohs(address.sin_port);
  return result;
}

pid_t spawn(const std::string& program, const std::vector<std::string>& arguments,
            const Environment& environment, int input, const std::string& output, int listen_fd) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  if (listen_fd >= 0) ::posix_spawn_file_actions_adddup2(&actions, listen_fd, kListenFd);

  const std::vector<std::string> variables = environment.as_strings();
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
  };
  pid_t pid = -1;
  const int status = ::posix_spawnp(&pid, program.c_str(), &actions, nullptr, pointers(arguments).data(),
                                    pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  REQUIRE(status == 0);
  return pid;
}

RankOutcome wait_for(pid_t pid, const std::string& output) {
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  RankOutcome outcome;
  if (WIFEXITED(status)) outcome.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.output = read_file(output);
  return outcome;
}

std::unique_ptr<comm::Communicator> Rank::connect(std::chrono::milliseconds timeout) const {
  comm::GroupOptions options;
  options.rank = rank_;
  options.world_size = world_size_;
  options.backend = backend_;
  options.timeout = timeout;
  // A survivor that had to wait for a processor is not to be named beside the dead.
  options.patience = std::chrono::seconds(3);
  options.store = store_;
  comm::BackendTable backends = comm::builtin_backends();
  if (backend_.starts_with("mpi")) {
    mpi_ =
        comm::load_mpi_plugin(mpi_plugin()).start_process({.thread_per_group = backend_ != kMpiOnOneThread});
    backends[backend_] = [mpi = mpi_](const comm::BackendRequest& request) { return mpi->connect(request); };
  }
  return comm::make_communicator(options, backends);
}

void Rank::finish() const {
  if (!mpi_) return;
  INFO(mpi_->description());
  CHECK(mpi_->finish(std::chrono::minutes(1)));
}

void Rank::die() const {
  ::raise(SIGKILL);
  ::abort();
}

void Rank::hang() const {
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

void Rank::freeze() const {
  ::raise(SIGSTOP);
  hang();
}

RankBody::RankBody(const std::string& name, std::function<void(const Rank&)> body) {
  bodies()[name] = std::move(body);
}

std::vector<RankOutcome> run_ranks(const std::string& body, int world_size, const std::vector<int>& hanging,
                                   const std::string& backend) {
  if (const auto names = Environment::of_process().get(kNamesOnly))
    return only_name(body, world_size, *names);
  if (backend.starts_with("mpi")) return run_ranks_under_mpirun(body, world_size, hanging, backend);
  struct Child {
    pid_t pid = -1;
    FileDescriptor alive;  // the child's stdin reads its end
  };
  const TemporaryDirectory directory;
  const ListeningSocket socket = listen_on_loopback();
  std::vector<Child> children;
  for (int rank = 0; rank < world_size; ++rank) {
    Environment environment = Environment::of_process();
    environment.set("TEST_BODY", body);
    environment.set("TEST_RANK", std::to_string(rank));
    environment.set("TEST_WORLD_SIZE", std::to_string(world_size));
    environment.set("TEST_BACKEND", backend);
    environment.set("TEST_PORT", std::to_string(socket.port));
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const FileDescriptor reading(ends[0]);
    Child child{-1, FileDescriptor(ends[1])};
    child.pid = spawn("/proc/self/exe", {"rank", kRankTest}, environment, reading.get(),
                      directory / std::to_string(rank), rank == 0 ? socket.fd.get() : -1);
    children.push_back(std::move(child));
  }
  std::vector<RankOutcome> outcomes(children.size());
  const auto hangs = [&](size_t rank) {
    return std::find(hanging.begin(), hanging.end(), static_cast<int>(rank)) != hanging.end();
  };
  for (const bool hung : {false, true}) {
    for (size_t rank = 0; rank < children.size(); ++rank) {
      if (hangs(rank) != hung) continue;
      children[rank].alive.reset();
      if (hung) ::kill(children[rank].pid, SIGCONT);
      outcomes[rank] = wait_for(children[rank].pid, directory / std::to_string(rank));
    }
  }
  return outcomes;
}

void require_success(const std::vector<RankOutcome>& outcomes) {
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    INFO("rank " << rank << " printed\n" << outcomes[rank].output);
    REQUIRE(outcomes[rank].signal == 0);
    REQUIRE(outcomes[rank].exit_status == 0);
  }
}

// Hidden: runs in the children only.
TEST_CASE(kRankTest, "[.rank]") {
  const Environment environment = Environment::of_process();
  const int rank = std::stoi(environment.get_or("TEST_RANK", "-1"));
  REQUIRE(rank >= 0);
  end_with_parent();  // a test that is stopped leaves nobody behind
  at::set_num_threads(1);
  comm::StoreAddress store{"127.0.0.1", static_cast<uint16_t>(std::stoi(*environment.get("TEST_PORT"))),
                           rank == 0 ? kListenFd : -1};
  const auto body = bodies().find(*environment.get("TEST_BODY"));
  REQUIRE(body != bodies().end());
  try {
    const Rank self(rank, std::stoi(*environment.get("TEST_WORLD_SIZE")), *environment.get("TEST_BACKEND"),
                    store);
    body->second(self);
    if (!environment.get("TEST_ENDS_ALONE")) self.finish();
  } catch (const Error& error) {
    FAIL(error.render());
  }
}

TEST_CASE("every body of ranks that is registered is run by a test") {
  const TemporaryDirectory directory;
  Environment environment = Environment::of_process();
  environment.set(kNamesOnly, directory / "names");
  const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  wait_for(spawn("/proc/self/exe", {"all", "[process],[.benchmark],[.strategies]"}, environment,
                 nothing.get(), directory / "output"),
           directory / "output");  // without ranks tests may fail, which is nobody's concern here
  std::set<std::string> run;
  std::ifstream names(directory / "names");
  for (std::string name; std::getline(names, name);) run.insert(name);
  REQUIRE_FALSE(bodies().empty());
  for (const auto& [name, body] : bodies()) {
    INFO(name);
    CHECK(run.count(name) == 1);
  }
}

}  // namespace hftrain::testing
