#include "launcher/front/batch_search.h"

#include <filesystem>
#include <fstream>

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

plan::RunPlan plan_with(int64_t batch) {
  plan::RunPlan plan;
  plan.batch.per_device_train = batch;
  plan.steps.max_steps = 10;
  return plan;
}

// Of two ranks of which the second failed after `step` updates.
launcher::JobResult without_memory(ExitCode code, int64_t step = 0) {
  launcher::JobResult result;
  result.code = code;
  result.workers.resize(2);
  for (int rank = 0; rank < 2; ++rank) result.workers[static_cast<size_t>(rank)].rank = rank;
  result.workers[1].ready = true;
  result.workers[1].step = step;
  result.failure.emplace();
  result.failure->rank = 1;
  return result;
}

}  // namespace

TEST_CASE("a batch shrinks by a tenth, rounded down, to nothing") {
  std::vector<int64_t> sizes;
  for (int64_t batch = 30; batch > 0; sizes.push_back(batch)) batch = smaller_batch(plan_with(batch));
  // int(0.9 * batch), as Python gives it.
  CHECK(sizes == std::vector<int64_t>{27, 24, 21, 18, 16, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  plan::RunPlan split = plan_with(32);
  split.data.split_batches = true;
  split.ranks.world_size = 4;
  CHECK(smaller_batch(split) == 28);
  split.batch.per_device_train = 4;
  CHECK(smaller_batch(split) == 0);
}

TEST_CASE("a batch is searched after training ran out of memory, and for no other end") {
  const plan::RunPlan plan = plan_with(8);
  CHECK(trained_out_of_memory(without_memory(ExitCode::kDeviceMemory), plan));
  CHECK(trained_out_of_memory(without_memory(ExitCode::kHostMemory, 9), plan));
  CHECK_FALSE(
      trained_out_of_memory(without_memory(ExitCode::kHostMemory, 10), plan));  // the evaluation at the end
  CHECK_FALSE(trained_out_of_memory(without_memory(ExitCode::kDisk), plan));
  launcher::JobResult loading = without_memory(ExitCode::kHostMemory);
  loading.workers[1].ready = false;
  CHECK_FALSE(trained_out_of_memory(loading, plan));
  launcher::JobResult stopped = without_memory(ExitCode::kHostMemory);
  stopped.stop_asked = true;
  CHECK_FALSE(trained_out_of_memory(stopped, plan));
  launcher::JobResult lost = without_memory(ExitCode::kHostMemory);
  lost.workers[0].lost = "its connection closed";
  CHECK_FALSE(trained_out_of_memory(lost, plan));
  plan::RunPlan evaluates = plan;
  evaluates.do_train = false;
  CHECK_FALSE(trained_out_of_memory(without_memory(ExitCode::kHostMemory), evaluates));
}

TEST_CASE("checkpoints of larger batches are moved out of the way") {
  const testing::TemporaryDirectory folder;
  plan::RunPlan plan = plan_with(8);
  plan.output_dir = folder.path();
  const std::string kept = plan.output_dir + "/checkpoint-3", gone = plan.output_dir + "/checkpoint-1";
  CHECK(set_aside({gone}, plan).empty());
  std::filesystem::create_directories(kept);
  const std::string aside = set_aside({gone, kept}, plan);
  CHECK(aside == plan.output_dir + "/hftrain/given_up/batch-8");
  CHECK_FALSE(path_exists(kept));
  CHECK(path_exists(aside + "/checkpoint-3"));
}

TEST_CASE("checkpoints that an earlier search gave up stay where they are") {
  const testing::TemporaryDirectory folder;
  plan::RunPlan plan = plan_with(8);
  plan.output_dir = folder.path();
  const std::vector<std::string> checkpoints = {plan.output_dir + "/checkpoint-1",
                                                plan.output_dir + "/checkpoint-3"};
  std::vector<std::string> places;
  for (const char* search : {"first", "second", "third"}) {
    for (const std::string& checkpoint : checkpoints) {
      std::filesystem::create_directories(checkpoint);
      std::ofstream(checkpoint + "/README.md") << search;
    }
    places.push_back(set_aside(checkpoints, plan));
  }
  const std::string first = plan.output_dir + "/hftrain/given_up/batch-8";
  CHECK(places == std::vector<std::string>{first, first + ".2", first + ".3"});
  CHECK(read_file(first + "/checkpoint-1/README.md") == "first");
  CHECK(read_file(first + ".2/checkpoint-3/README.md") == "second");
}

}  // namespace hftrain::front
