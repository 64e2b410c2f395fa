// Ranks under mpirun, as a run has them: mpirun starts one process per rank, a place; the places meet through
// PMIx; each starts its rank as a child, which starts MPI. So a rank may die without mpirun taking notice.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "comm/rank_spawn.h"
#include "hftrain/base/text.h"
#include "launcher/environments/pmix_exchange.h"
#include "support/catch.h"
#include "support/fork.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::testing {
namespace {

constexpr const char* kPlaceTest = "one place of a test under mpirun";
const std::string kExchangeLibrary = plugin("hftrain_pmix");

constexpr double kMeetingSeconds = 120;  // only a hang takes them

// What every place gets from whoever runs mpirun.
struct Job {
  std::string directory;
  std::string status_file(int rank) const { return directory + '/' + std::to_string(rank) + ".status"; }
  std::string output_file(int rank) const { return directory + '/' + std::to_string(rank) + ".output"; }
  // A fifo that everybody who does not hang keeps open for writing.
  std::string awake() const { return directory + "/awake"; }
};

}  // namespace

std::string no_mpi_because() {
  if (only_names_bodies()) return "";
  if (!path_exists(mpi_plugin())) return "libhftrain_mpi.so is not built: no libopenmpi-dev";
  if (!path_exists(kExchangeLibrary)) return "libhftrain_pmix.so is not built: no libpmix-dev";
  return ::system("command -v mpirun > /dev/null") == 0 ? "" : "mpirun is missing: openmpi-bin";
}

std::vector<RankOutcome> run_ranks_under_mpirun(const std::string& body, int world_size,
                                                const std::vector<int>& hanging, const std::string& backend) {
  const TemporaryDirectory directory;
  const Job job{directory.path()};
  REQUIRE(::mkfifo(job.awake().c_str(), 0600) == 0);
  std::vector<std::string> hanging_names;
  for (const int rank : hanging) hanging_names.push_back(std::to_string(rank));

  Environment environment = Environment::of_process();
  environment.set("TEST_BODY", body);
  environment.set("TEST_WORLD_SIZE", std::to_string(world_size));
  environment.set("TEST_BACKEND", backend);
  environment.set("TEST_DIRECTORY", directory.path());
  environment.set("TEST_HANGING", join(hanging_names, " "));
  environment.set("OMPI_ALLOW_RUN_AS_ROOT", "1");
  environment.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const pid_t mpirun =
      spawn("mpirun", {"mpirun", "--oversubscribe", "-n", std::to_string(world_size), program, kPlaceTest},
            environment, nothing.get(), directory / "mpirun");
  const RankOutcome whole = wait_for(mpirun, directory / "mpirun");
  INFO("mpirun printed\n" << whole.output);

  std::vector<RankOutcome> outcomes;
  for (int rank = 0; rank < world_size; ++rank) {
    REQUIRE(path_exists(job.status_file(rank)));
    RankOutcome outcome;
    std::istringstream(read_file(job.status_file(rank))) >> outcome.exit_status >> outcome.signal;
    outcome.output = read_file(job.output_file(rank));
    outcomes.push_back(outcome);
  }
  REQUIRE(whole.exit_status == 0);
  return outcomes;
}

// Hidden: started by mpirun.
TEST_CASE(kPlaceTest, "[.rank]") {
  Environment environment = Environment::of_process();
  const int rank = std::stoi(environment.get_or("PMIX_RANK", "-1"));
  REQUIRE(rank >= 0);
  end_with_parent();  // with mpirun goes everything that it started
  const Job job{*environment.get("TEST_DIRECTORY")};
  const std::vector<std::string> hanging = split(*environment.get("TEST_HANGING"), ' ');
  const bool hangs = std::find(hanging.begin(), hanging.end(), std::to_string(rank)) != hanging.end();

  const ListeningSocket socket = listen_on_loopback();
  // Opened by all before they meet, so that a rank that hangs reads the end only when all others have closed
  // it.
  FileDescriptor awake(::open(job.awake().c_str(), O_RDWR | O_CLOEXEC));
  launcher::PmixExchange exchange(kExchangeLibrary);
  std::string port = std::to_string(socket.port);
  if (rank == 0) {
    exchange.publish(port, kMeetingSeconds);
  } else {
    port = exchange.await(kMeetingSeconds);
  }
  environment.set("TEST_PORT", port);
  environment.set("TEST_RANK", std::to_string(rank));
  if (!hanging.empty() && !hanging.front().empty()) environment.set("TEST_ENDS_ALONE", "1");
  const FileDescriptor input(::open(hangs ? job.awake().c_str() : "/dev/null", O_RDONLY | O_CLOEXEC));
  if (hangs) awake.reset();
  const pid_t child = spawn("/proc/self/exe", {"rank", kRankTest}, environment, input.get(),
                            job.output_file(rank), rank == 0 ? socket.fd.get() : -1);
  const RankOutcome outcome = wait_for(child, job.output_file(rank));
  write_file_atomically(job.status_file(rank),
                        std::to_string(outcome.exit_status) + ' ' + std::to_string(outcome.signal));
}

}  // namespace hftrain::testing
