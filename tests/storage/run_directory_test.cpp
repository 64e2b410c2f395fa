#include "hftrain/storage/run_directory.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/fork.h"
#include "support/refusal.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using testing::TemporaryDirectory;

void commit(const std::string& output_dir, int64_t step) {
  PosixFileSystem files;
  CheckpointTransaction transaction(files, output_dir, step);
  StagedFiles staged(files, transaction.directory());
  staged.put("config.json", "{}");
  staged.sync_names();
  Manifest manifest;
  manifest.plan_hash = "plan of " + std::to_string(step);
  manifest.identity = {{"seed", step}};
  manifest.files = staged.records();
  transaction.commit(std::move(manifest));
}

std::vector<std::string> names_below(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    names.push_back(entry.path().lexically_relative(folder).string());
  std::sort(names.begin(), names.end());
  return names;
}

// A process of the test that does `body` and is gone with this object, or with the test, however that ends.
class Child {
 public:
  template <typename Body>
  explicit Child(const Body& body) {
    pid_ = testing::fork_child();
    if (pid_ == 0) {
      try {
        body();
      } catch (...) {  // that it has ended tells
      }
      ::_exit(1);
    }
    REQUIRE(pid_ > 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  bool runs() {
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = -1;
    return pid_ > 0;
  }
  void end() {
    if (!runs()) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

struct TestPipe {
  FileDescriptor reading, writing;
  TestPipe() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    reading.reset(ends[0]);
    writing.reset(ends[1]);
  }
  // What a child has written; the test fails where it never does.
  char hear() const {
    constexpr int kOnlyAHangTakesLonger = 60'000;
    pollfd ready{reading.get(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, kOnlyAHangTakesLonger) == 1);
    char byte = 0;
    REQUIRE(::read(reading.get(), &byte, 1) == 1);
    return byte;
  }
};

// What `body` gives in a process of its own; 'e' where it throws.
template <typename Body>
char told_by_child(const Body& body) {
  const TestPipe told;
  const Child child([&] {
    char word = 'e';
    try {
      word = body();
    } catch (const Error&) {  // 'e' tells
    }
    if (::write(told.writing.get(), &word, 1) == 1) ::pause();
  });
  return told.hear();
}

// For the rest of this process. False where the system lets no process do that.
bool let_fail(uint32_t system_call, uint32_t error) {
  sock_filter code[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
                        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, system_call},
                        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
                        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog program{static_cast<uint16_t>(std::size(code)), code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void look(const std::string& output) {
  try {
    check_not_in_use(output);
  } catch (const Error&) {
    // It is, just now.
  }
}

// As a run does it, at a word from `go`: says 'y' when it has the folder, which it keeps, else 'n'.
void start_run(const std::string& output, int go, int told, bool moves) {
  char byte = 'n';
  if (::read(go, &byte, 1) != 1) return;
  try {
    check_not_in_use(output);
    RunLock lock(output);
    if (moves) move_run_aside(output, lock);
    if (::write(told, "y", 1) == 1) ::pause();
  } catch (const Error&) {
    if (::write(told, "n", 1) == 1) ::pause();
  }
}

TEST_CASE("a second run on a folder is refused until the first ends", "[storage]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "deep/out";
  {
    const RunLock lock(output);
    try {
      const RunLock second(output);
      FAIL("two runs hold one folder");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
      CHECK_THAT(error.diagnostics().front().why, Catch::Contains("process " + std::to_string(::getpid())));
    }
  }
  CHECK_NOTHROW(RunLock(output));
}

TEST_CASE("a killed run releases its folder", "[storage][process]") {
  const TemporaryDirectory folder;
  const TestPipe ready;
  Child child([&] {
    const RunLock lock(folder.path());
    if (::write(ready.writing.get(), "x", 1) == 1) ::pause();
  });
  ready.hear();
  CHECK_REFUSED(RunLock(folder.path()), "another run is using the output folder");
  child.end();
  CHECK_NOTHROW(RunLock(folder.path()));
}

TEST_CASE("an output folder is fresh, foreign, or has checkpoints", "[storage]") {
  const TemporaryDirectory folder;
  CHECK(inspect_output_dir(folder / "missing").kind == OutputKind::kFresh);
  const RunLock lock(folder.path());
  std::filesystem::create_directory(folder / ".checkpoint-3.tmp-1-2");
  CHECK(inspect_output_dir(folder.path()).kind == OutputKind::kFresh);

  // A checkpoint of another trainer has no manifest.
  std::filesystem::create_directory(folder / "checkpoint-500");
  std::ofstream(folder / "model.safetensors") << "x";
  OutputState state = inspect_output_dir(folder.path());
  CHECK(state.kind == OutputKind::kForeign);
  CHECK(state.foreign_names == std::vector<std::string>{"checkpoint-500", "model.safetensors"});

  commit(folder.path(), 10);
  commit(folder.path(), 20);
  state = inspect_output_dir(folder.path());
  CHECK(state.kind == OutputKind::kCheckpoints);
  REQUIRE(state.newest.checkpoint);
  CHECK(state.newest.checkpoint->step == 20);
  REQUIRE(state.manifest);
  CHECK(state.manifest->plan_hash == "plan of 20");
  CHECK(state.manifest->identity == Json{{"seed", 20}});

  for (const int step : {10, 20}) {
    std::ofstream(checkpoint_path(folder.path(), step) + "/config.json") << "damaged";
  }
  state = inspect_output_dir(folder.path());
  CHECK(state.kind == OutputKind::kCheckpoints);
  CHECK_FALSE(state.newest.checkpoint);
  CHECK_FALSE(state.manifest);
  CHECK(state.newest.skipped.size() == 3);
}

TEST_CASE("a file that is called like a checkpoint is found, and no save replaces it", "[storage]") {
  const TemporaryDirectory folder;
  std::ofstream(folder / "checkpoint-2") << "notes";
  std::ofstream(folder / "checkpoint-02") << "x";
  std::filesystem::create_directory(folder / "checkpoint-4");
  CHECK(files_in_the_way(folder.path()) == std::vector<std::string>{"checkpoint-2"});
  try {
    commit(folder.path(), 2);
    FAIL("it was replaced");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDisk);
    CHECK(error.diagnostics().front().where == folder / "checkpoint-2");
  }
  CHECK(read_file(folder / "checkpoint-2") == "notes");
}

TEST_CASE("an old run steps aside under a free name", "[storage]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "out";
  RunLock lock(output);
  CHECK(move_run_aside(output, lock).empty());
  commit(output, 1);
  std::filesystem::create_directory(output + ".old-1");
  CHECK(move_run_aside(output + "/", lock) == output + ".old-2");
  CHECK(names_below(output) == std::vector<std::string>{"hftrain", "hftrain/lock"});
  CHECK_REFUSED(RunLock(output), "another run is using the output folder");
  CHECK_NOTHROW(RunLock(output + ".old-2"));
  CHECK(list_checkpoints(output + ".old-2").size() == 1);
  CHECK(std::filesystem::is_empty(output + ".old-1"));
}

TEST_CASE("where the output folder is a link, what it leads to steps aside, and new runs lie there, too",
          "[storage]") {
  const TemporaryDirectory folder;
  std::filesystem::create_directories(folder / "scratch/run");
  std::filesystem::create_directory_symlink("scratch/run", folder / "out");
  RunLock lock(folder / "out");
  commit(folder / "out", 1);
  const std::string moved = move_run_aside(folder / "out/", lock);
  CHECK(moved == std::filesystem::canonical(folder / "scratch").string() + "/run.old-1");
  CHECK(list_checkpoints(moved).size() == 1);
  CHECK(std::filesystem::is_symlink(folder / "out"));
  CHECK(names_below(folder / "scratch/run") == std::vector<std::string>{"hftrain", "hftrain/lock"});
  CHECK(lock.is_in_place());
  CHECK_REFUSED(RunLock(folder / "out"), "another run is using the output folder");
  CHECK(move_run_back(moved, lock));
  CHECK(list_checkpoints(folder / "scratch/run").size() == 1);
  CHECK_FALSE(path_exists(moved));
  CHECK(std::filesystem::is_symlink(folder / "out"));
}

TEST_CASE("an old run comes back to its place while nothing but a start is there", "[storage]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "out";
  RunLock lock(output);
  commit(output, 1);
  const std::string moved = move_run_aside(output, lock);
  for (const char* name : {"arguments.yaml", "plan.json", "nodes/1/plan.json"}) {
    const std::filesystem::path path = output + "/hftrain/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "x";
  }
  CHECK(move_run_back(moved, lock));
  CHECK(names_below(folder.path()).front() == "out");
  CHECK_FALSE(std::filesystem::exists(moved));
  CHECK(list_checkpoints(output).size() == 1);

  RunLock again(output);
  const std::string aside = move_run_aside(output, again);
  std::ofstream(output + "/hftrain/log.jsonl") << "x";
  CHECK_FALSE(move_run_back(aside, again));
  CHECK(names_below(output) == std::vector<std::string>{"hftrain", "hftrain/lock", "hftrain/log.jsonl"});
  CHECK(list_checkpoints(aside).size() == 1);
}

TEST_CASE("what another run has begun in the place of this one's folder stays", "[storage]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "out";
  RunLock lock(output);
  commit(output, 1);
  const std::string moved = move_run_aside(output, lock);
  std::filesystem::rename(output, folder / "elsewhere");
  const RunLock other(output);
  std::ofstream(output + "/hftrain/plan.json") << "of the other";
  CHECK_FALSE(move_run_back(moved, lock));
  CHECK(path_exists(output + "/hftrain/plan.json"));
  CHECK(list_checkpoints(moved).size() == 1);
}

// As NFS, which says EINVAL to whatever is asked beside a plain rename.
TEST_CASE("an old run steps aside and comes back where a file system only renames", "[storage][process]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "out", link = folder / "link";
  for (const std::string& name : {output, output + ".old-1", folder / "real"})
    std::filesystem::create_directory(name);
  std::filesystem::create_directory_symlink(folder / "real", link);
  for (const std::string& name : {output, link}) commit(name, 1);
  const auto there_and_back = [](const std::string& name, const std::string& aside) {
    RunLock lock(name);
    const bool moved = move_run_aside(name, lock) == aside && list_checkpoints(aside).size() == 1 &&
                       names_below(name) == std::vector<std::string>{"hftrain", "hftrain/lock"};
    return moved && move_run_back(aside, lock);
  };
  const char told = told_by_child([&] {
    if (!let_fail(SYS_renameat2, EINVAL)) return 's';
    return there_and_back(output, output + ".old-2") && there_and_back(link, folder / "real.old-1") ? 'y'
                                                                                                    : 'n';
  });
  if (told == 's') HFTRAIN_SKIP("a system that lets a process filter its calls (seccomp)");
  CHECK(told == 'y');
  CHECK(std::filesystem::is_empty(output + ".old-1"));
  CHECK_FALSE(path_exists(output + ".old-2"));
  CHECK_FALSE(path_exists(folder / "real.old-1"));
  CHECK(std::filesystem::is_symlink(link));
  for (const std::string& name : {output, link}) CHECK(list_checkpoints(name).size() == 1);
}

TEST_CASE("a folder that cannot be synced keeps no old run aside", "[storage][process]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "out";
  std::filesystem::create_directory(output);
  commit(output, 1);
  const char aside = told_by_child([&] {
    RunLock lock(output);
    if (!let_fail(SYS_fsync, EIO)) return 's';
    return move_run_aside(output, lock).empty() ? 'n' : 'y';
  });
  if (aside == 's') HFTRAIN_SKIP("a system that lets a process filter its calls (seccomp)");
  CHECK(aside == 'e');
  CHECK_FALSE(path_exists(output + ".old-1"));
  CHECK(list_checkpoints(output).size() == 1);
  const char back = told_by_child([&] {
    RunLock lock(output);
    const std::string moved = move_run_aside(output, lock);
    return let_fail(SYS_fsync, EIO) && move_run_back(moved, lock) ? 'y' : 'n';
  });
  CHECK(back == 'y');
  CHECK(list_checkpoints(output).size() == 1);
}

TEST_CASE("an old run is not left aside where the new folder cannot be locked", "[storage]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "out";
  RunLock lock(output);
  commit(output, 1);
  // Nothing can be written, the name of who holds the lock neither.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit usual {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &usual) == 0);
  const struct rlimit none { 0, usual.rlim_max };
  std::string refusal;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  try {
    move_run_aside(output, lock);
  } catch (const Error& error) {
    refusal = error.render();
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &usual) == 0);
  std::signal(SIGXFSZ, before);
  CHECK_THAT(refusal, Catch::Contains("cannot write"));
  CHECK_FALSE(std::filesystem::exists(output + ".old-1"));
  CHECK(list_checkpoints(output).size() == 1);
  CHECK_REFUSED(RunLock(output), "another run is using the output folder");
}

TEST_CASE("a run that never began takes back what taking its folder has made", "[storage]") {
  const TemporaryDirectory folder;
  RunLock fresh(folder / "deep/out");
  fresh.take_back();
  CHECK(names_below(folder.path()).empty());

  std::filesystem::create_directory(folder / "out");
  RunLock beside(folder / "out");
  std::ofstream(folder / "out/notes.txt") << "x";
  beside.take_back();
  CHECK(names_below(folder.path()) == std::vector<std::string>{"out", "out/notes.txt"});

  { const RunLock before(folder / "out"); }
  RunLock again(folder / "out");
  again.take_back();
  CHECK(names_below(folder / "out") == std::vector<std::string>{"hftrain", "hftrain/lock", "notes.txt"});
  CHECK_NOTHROW(RunLock(folder / "out"));
}

TEST_CASE("a lock that cannot be had leaves no empty folders", "[storage]") {
  const TemporaryDirectory folder;
  std::filesystem::create_directory(folder / "before");
  struct rlimit usual {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const struct rlimit none { 0, usual.rlim_max };
  std::string refusal;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  try {
    const RunLock lock(folder / "before/deep/out");
  } catch (const Error& error) {
    refusal = error.render();
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  CHECK_THAT(refusal, Catch::Contains("cannot open"));
  CHECK(names_below(folder.path()) == std::vector<std::string>{"before"});

  const RunLock other(folder / "out");
  CHECK_REFUSED(RunLock(folder / "out"), "another run is using the output folder");
  CHECK(names_below(folder / "out") == std::vector<std::string>{"hftrain", "hftrain/lock"});
}

TEST_CASE("what has the place of a run that never began is not taken back with it", "[storage]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "out";
  RunLock first(output);
  std::filesystem::rename(output, folder / "aside");
  const RunLock other(output);
  first.take_back();
  CHECK(names_below(output) == std::vector<std::string>{"hftrain", "hftrain/lock"});
  CHECK_REFUSED(RunLock(output), "another run is using the output folder");
  CHECK_NOTHROW(RunLock(folder / "aside"));

  std::filesystem::create_directories(folder / "linked/hftrain");
  std::filesystem::create_symlink(folder / "elsewhere", folder / "linked/hftrain/lock");
  RunLock linked(folder / "linked");
  linked.take_back();
  CHECK(std::filesystem::is_symlink(folder / "linked/hftrain/lock"));
}

TEST_CASE("who looks whether a folder is in use holds no run off", "[storage][process]") {
  const TemporaryDirectory folder;
  { const RunLock before(folder.path()); }
  Child child([&] {
    for (;;) look(folder.path());
  });
  int refused = 0;
  for (int start = 0; start < 300; ++start) {
    try {
      const RunLock lock(folder.path());
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused == 0);
  CHECK(child.runs());
}

TEST_CASE("a run that takes its folders back hinders no start beside it", "[storage][process]") {
  const TemporaryDirectory folder;
  Child child([&] {
    for (;;) RunLock(folder / "deep/runs/first").take_back();
  });
  for (int start = 0; start < 500; ++start) {
    RunLock lock(folder / "deep/runs/second");
    lock.take_back();
  }
  CHECK(child.runs());  // nor did it meet one
}

TEST_CASE("of two starts on one folder exactly one goes on, also where both move an old run aside",
          "[storage][process]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "out";
  for (int round = 0; round < 100; ++round) {
    const TestPipe go, told;
    const auto start = [&] { start_run(output, go.reading.get(), told.writing.get(), round % 2 == 1); };
    Child one(start), other(start);
    REQUIRE(::write(go.writing.get(), "go", 2) == 2);
    const std::string said{told.hear(), told.hear()};
    INFO("round " << round << ": " << said);
    CHECK(std::count(said.begin(), said.end(), 'y') == 1);
    one.end();
    other.end();
    std::ofstream(output + "/of_round_" + std::to_string(round)) << "x";
  }
}

TEST_CASE("a lock on a folder that was moved aside in between is none", "[storage]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "out";
  { const RunLock before(output); }
  // A lease keeps who opens the file waiting, with the file in hand, until it is given up.
  const auto before = std::signal(SIGIO, SIG_IGN);
  const FileDescriptor lease(::open((output + "/hftrain/lock").c_str(), O_RDWR | O_CLOEXEC));
  if (::fcntl(lease.get(), F_SETLEASE, F_WRLCK) != 0) HFTRAIN_SKIP("this file system has no leases");
  std::optional<RunLock> lock;
  std::thread starter([&] { lock.emplace(output); });
  while (::fcntl(lease.get(), F_GETLEASE) == F_WRLCK) ::usleep(1000);
  std::filesystem::rename(output, folder / "aside");
  ::fcntl(lease.get(), F_SETLEASE, F_UNLCK);
  starter.join();
  std::signal(SIGIO, before);
  CHECK_REFUSED(RunLock(output), "another run is using the output folder");
  CHECK_NOTHROW(RunLock(folder / "aside"));
}

TEST_CASE("a link to a folder that is not there is named, before a run and by its lock", "[storage]") {
  const TemporaryDirectory folder;
  std::filesystem::create_directory_symlink(folder / "gone", folder / "out");
  const auto says = [&](const auto& act) {
    try {
      act();
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kDisk);
      return error.diagnostics().front().why;
    }
    return std::string();
  };
  const std::string why = folder / "out" + " is a link, and what it leads to is not there";
  CHECK(says([&] { check_can_take(folder / "out"); }) == why);
  CHECK(says([&] { const RunLock lock(folder / "out"); }) == why);
  std::filesystem::create_directory(folder / "gone");
  CHECK_NOTHROW(check_can_take(folder / "out"));
}

TEST_CASE("a folder that could not be made or written into is known before", "[storage]") {
  const TemporaryDirectory folder;
  CHECK_NOTHROW(check_can_take(folder / "deep/out"));
  CHECK(names_below(folder.path()).empty());
  std::ofstream(folder / "file") << "x";
  try {
    check_can_take(folder / "file/out");
    FAIL("a file is above it");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDisk);
  }
  std::filesystem::create_directory(folder / "locked");
  std::filesystem::permissions(folder / "locked", std::filesystem::perms(0555));
  if (::geteuid() != 0)
    CHECK_REFUSED(check_can_take(folder / "locked/out"), "cannot write into the output folder");
  try {
    check_can_take(folder / std::string(300, 'x'));
    FAIL("its name is too long");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
  }
  std::string deep = folder.path();
  while (deep.size() < PATH_MAX - 100)
    deep += "/" + std::string(std::min<size_t>(99, PATH_MAX - 40 - deep.size()), 'x');
  CHECK_REFUSED(check_can_take(deep), "the name of the output folder is too long");
  const RunLock lock(folder / "out");
  CHECK_REFUSED(check_can_take(folder / "out"), "another run is using the output folder");
}

}  // namespace
}  // namespace hftrain::storage
