// kill -9 at random moments of saves, again and again on one folder.
//
//   checkpoint_kill_loop [ROUNDS] [SEED] [FOLDER]
//
// Every round a fresh process takes the folder as the front program does, demands that nothing half-written
// is found, loads the newest checkpoint and compares every number with what its step must hold, and then
// saves one checkpoint after the other (whole or sharded, at once or in the background) until it is killed.
// What it had announced as committed must be there afterwards.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <random>
#include <thread>

#include "checkpoint/small_run.h"
#include "hftrain/base/clock.h"
#include "hftrain/storage/run_directory.h"
#include "support/fork.h"
#include "support/temporary_directory.h"

namespace {

using namespace hftrain;

constexpr int64_t kRows = 20'000;  // 0.3 MB a tensor: writing takes a while

struct Message {
  int64_t step = 0;  // committed; the first one of a process: found
};

void tell(int pipe, int64_t step) {
  const Message message{step};
  if (::write(pipe, &message, sizeof message) != sizeof message) ::_exit(4);
}

int64_t newest_step(const std::string& folder) {
  const storage::NewestCheckpoint newest = storage::newest_verified_checkpoint(folder);
  if (!newest.skipped.empty()) {
    std::cerr << newest.skipped[0].path << ": " << newest.skipped[0].reason << std::endl;
    ::_exit(2);
  }
  return newest.checkpoint ? newest.checkpoint->step : 0;
}

[[noreturn]] void save_until_killed(const std::string& folder, uint32_t round, int pipe) {
  const storage::RunLock lock(folder);
  storage::PosixFileSystem files;
  storage::clean_leftovers(files, folder);
  const int64_t found = newest_step(folder);
  testing::SmallRun run(files, folder, round % 2 == 0 ? "full" : "sharded", kRows);
  if (found > 0 && !run.holds(storage::checkpoint_path(folder, found), found)) {
    std::cerr << "checkpoint " << found << " holds other numbers than were saved" << std::endl;
    ::_exit(3);
  }
  tell(pipe, found);
  // A step that was under way when the last process died is saved again, and so is the last one.
  for (int64_t step = std::max<int64_t>(found, 1);; ++step) {
    run.save(step, round % 4 < 2);
    tell(pipe, step);
  }
}

struct Round {
  int64_t found = 0, committed = 0;
  bool announced = false;
};

class KillLoop {
 public:
  KillLoop(std::string folder, uint32_t seed) : folder_(std::move(folder)), random_(seed) {}

  // False when something was wrong.
  bool run(uint32_t round) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    const pid_t child = testing::fork_child();
    if (child == 0) save_until_killed(folder_, round, ends[1]);
    ::close(ends[1]);
    // Some die while they start, the others in one of their first saves.
    Round seen;
    const uint32_t wanted = random_() % 4;
    double last = monotonic_seconds();
    for (uint32_t i = 0; i < wanted && hear(ends[0], seen); ++i) {
      const double now = monotonic_seconds();
      if (i > 0) save_seconds_ += 0.2 * (now - last - save_seconds_);
      last = now;
    }
    // The kill is what is random: anywhere in the next save, or a little after it.
    const double share = static_cast<double>(random_()) / static_cast<double>(std::mt19937::max());
    std::this_thread::sleep_for(std::chrono::duration<double>(1.3 * share * save_seconds_));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    while (hear(ends[0], seen)) {
    }
    ::close(ends[0]);
    return judge(round, status, seen);
  }
  int64_t newest() const { return newest_; }

 private:
  static bool hear(int pipe, Round& seen) {
    Message message;
    if (::read(pipe, &message, sizeof message) != sizeof message) return false;
    (seen.announced ? seen.committed : seen.found) = message.step;
    seen.announced = true;
    return true;
  }

  bool judge(uint32_t round, int status, const Round& seen) {
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
      std::cerr << "round " << round << ": the process ended by itself with " << WEXITSTATUS(status)
                << std::endl;
      return false;
    }
    if (seen.announced && seen.found < newest_) {
      std::cerr << "round " << round << ": " << newest_ << " was committed, " << seen.found << " was found\n";
      return false;
    }
    newest_ = std::max({newest_, seen.found, seen.committed});
    for (const storage::CheckpointInfo& checkpoint : storage::list_checkpoints(folder_)) {
      const storage::Verification result = storage::verify_checkpoint(checkpoint.path, 1);
      if (result.ok) continue;
      std::cerr << "round " << round << ": " << checkpoint.path << '/' << result.file << ' ' << result.reason
                << std::endl;
      return false;
    }
    return true;
  }

  std::string folder_;
  std::mt19937 random_;
  int64_t newest_ = 0;
  double save_seconds_ = 0.02;  // what a save takes, from what is heard
};

}  // namespace

int main(int argc, char** argv) {
  const auto rounds = static_cast<uint32_t>(argc > 1 ? std::stoul(argv[1]) : 60);
  const auto seed = static_cast<uint32_t>(argc > 2 ? std::stoul(argv[2]) : 1);
  const hftrain::testing::TemporaryDirectory temporary;
  KillLoop loop(argc > 3 ? argv[3] : temporary.path(), seed);
  for (uint32_t round = 0; round < rounds; ++round) {
    if (!loop.run(round)) return 1;
  }
  if (loop.newest() < static_cast<int64_t>(rounds / 10)) {
    std::cerr << "only " << loop.newest() << " checkpoints were committed: hardly anything was tried\n";
    return 1;
  }
  std::cout << rounds << " kills, " << loop.newest()
            << " checkpoints committed: the newest always loaded, nothing half-written was chosen"
            << std::endl;
  return 0;
}
