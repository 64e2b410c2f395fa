#include <cerrno>

#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {

TEST_CASE("optimizer state on NVMe is on the disk instead of in memory, and must fit there") {
  Case run({"--fsdp"});
  const int64_t state = run.plan().memory_per_rank.optimizer;
  arguments::ParallelOptions& sharding = run.parsed.arguments.parallel.sharding;
  sharding.offload_optimizer = {"nvme", "ds.json:3:14"};
  sharding.optimizer_path = {"/nvme", "ds.json:4:18"};
  const RunPlan plan = run.plan();
  CHECK(plan.memory_per_rank.optimizer == 0);
  CHECK(plan.disk.nvme_bytes == state);
  ResolveInput input = run.input();
  input.optimizer_disk = DiskSpace{1, static_cast<uint64_t>(state)};
  CHECK(resolve(input).disk.nvme_bytes == state);
  input.optimizer_disk = DiskSpace{1, static_cast<uint64_t>(state - 1)};
  try {
    resolve(input);
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDisk);
    CHECK(contains(error.render(), "the offloaded state does not fit on the disk\n  where: /nvme"));
  }
  run.parsed.arguments.saving.async_save = true;
  CHECK(run.error().code() == ExitCode::kUsage);
}

TEST_CASE("offloaded state must fit on the disks of its folders, two folders on one disk together") {
  Case run({"--fsdp", "--nproc_per_node", "2"});  // one rank alone keeps its parameters whole, in memory
  arguments::ParallelOptions& sharding = run.parsed.arguments.parallel.sharding;
  sharding.offload_optimizer = {"nvme", "ds.json:3:14"};
  sharding.optimizer_path = {"/states", "ds.json:4:18"};
  const auto optimizer = static_cast<uint64_t>(run.plan().disk.nvme_bytes);
  sharding.offload_parameters = {"nvme", "ds.json:5:14"};
  sharding.parameters_path = {"/weights", "ds.json:6:18"};
  const uint64_t parameters = static_cast<uint64_t>(run.plan().disk.nvme_bytes) - optimizer;
  REQUIRE(parameters > 0);
  const auto refusal = [&](DiskSpace of_parameters, DiskSpace of_optimizer) -> std::string {
    ResolveInput input = run.input();
    input.parameters_disk = of_parameters;
    input.optimizer_disk = of_optimizer;
    try {
      resolve(input);
      return "";
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kDisk);
      return error.render();
    }
  };
  CHECK(refusal({1, parameters}, {2, optimizer}).empty());
  CHECK(contains(refusal({1, parameters - 1}, {2, optimizer}), "where: /weights\n"));
  CHECK(contains(refusal({1, parameters}, {2, optimizer - 1}), "where: /states\n"));
  const std::string both = refusal({1, parameters - 1}, {2, optimizer - 1});
  CHECK((contains(both, "where: /weights\n") && contains(both, "where: /states\n")));
  const uint64_t all = parameters + optimizer;
  CHECK(refusal({1, all}, {1, all}).empty());
  CHECK(contains(refusal({1, all - 1}, {1, all - 1}), "where: /weights, /states\n  why: it takes "));
  sharding.parameters_path = {"/states", "ds.json:6:18"};
  CHECK(contains(refusal({1, all - 1}, {1, all - 1}), "where: /states\n"));
  sharding.parameters_path = {"/weights", "ds.json:6:18"};
  const std::string file = refusal({1, all}, {1, all, ENOTDIR});
  CHECK(contains(file, "no offloaded state can be kept there\n  where: /states\n  why: Not a directory"));
  CHECK_FALSE(contains(file, "/weights"));
}

TEST_CASE("a folder that nothing is offloaded to is not among those that have too little room") {
  Case run({"--fsdp", "--nproc_per_node", "1"});
  arguments::ParallelOptions& sharding = run.parsed.arguments.parallel.sharding;
  sharding.offload_optimizer = {"nvme", "ds.json:3:14"};
  sharding.optimizer_path = {"/states", "ds.json:4:18"};
  sharding.offload_parameters = {"nvme", "ds.json:5:14"};
  sharding.parameters_path = {"/weights", "ds.json:6:18"};
  const int64_t all = run.plan().disk.nvme_bytes;
  ResolveInput input = run.input();
  input.parameters_disk = input.optimizer_disk = DiskSpace{1, static_cast<uint64_t>(all - 1)};
  try {
    resolve(input);
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(contains(error.render(), "where: /states\n"));
    CHECK_FALSE(contains(error.render(), "parameters"));
  }
}

}  // namespace hftrain::plan
