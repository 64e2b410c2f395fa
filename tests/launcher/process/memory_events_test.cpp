#include "launcher/process/memory_events.h"

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::launcher {

TEST_CASE("kills for memory are read from the process's own control group") {
  const hftrain::testing::TemporaryDirectory root;
  write_file_atomically(root / "proc/self/cgroup", "0::/user/job\n");
  write_file_atomically(root / "sys/fs/cgroup/user/job/memory.events", "low 0\nhigh 2\noom 4\noom_kill 3\n");
  write_file_atomically(root / "sys/fs/cgroup/user/job/memory.max", "1073741824\n");
  CHECK(memory_kills(root.path()) == 3);
  CHECK(memory_limit(root.path()) == 1073741824u);
}

TEST_CASE("a group whose folder is not mounted is looked for in its parents") {
  const hftrain::testing::TemporaryDirectory root;
  write_file_atomically(root / "proc/self/cgroup", "12:cpu:/x\n0::/docker/abc\n");
  write_file_atomically(root / "sys/fs/cgroup/memory.events", "oom_kill 7\n");
  write_file_atomically(root / "sys/fs/cgroup/memory.max", "max\n");
  CHECK(memory_kills(root.path()) == 7);
  CHECK_FALSE(memory_limit(root.path()));
}

TEST_CASE("without control groups the machine's counter counts, and without any there were no kills") {
  const hftrain::testing::TemporaryDirectory root;
  CHECK(memory_kills(root.path()) == 0);
  write_file_atomically(root / "proc/vmstat", "nr_free_pages 5\noom_kill 2\n");
  CHECK(memory_kills(root.path()) == 2);
}

TEST_CASE("with control groups of version 1 the process's own group counts, not the root") {
  const hftrain::testing::TemporaryDirectory root;
  write_file_atomically(root / "proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/slurm/job_7\n0::/\n");
  write_file_atomically(root / "sys/fs/cgroup/memory/memory.oom_control", "under_oom 0\noom_kill 0\n");
  write_file_atomically(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(memory_kills(root.path()) == 0);
  CHECK_FALSE(memory_limit(root.path()));
  const std::string group = root / "sys/fs/cgroup/memory/slurm/job_7";
  write_file_atomically(group + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  write_file_atomically(group + "/memory.limit_in_bytes", "150000000\n");
  CHECK(memory_kills(root.path()) == 2);
  CHECK(memory_limit(root.path()) == 150000000u);
}

}  // namespace hftrain::launcher
