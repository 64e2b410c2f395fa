// Checkpoints that a run has no more use for, where the file system keeps them.
#include <fcntl.h>
#include <sys/ioctl.h>

#include <filesystem>

#include "hftrain/base/file.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "support/catch.h"
#include "support/skip.h"
#include "support/temporary_directory.h"
#include "trainer/tiny_run.h"

namespace hftrain::trainer {
namespace {

// Of linux/fs.h, whose macros have names of LibTorch's.
constexpr unsigned long kGetFlags = _IOR('f', 1, long), kSetFlags = _IOW('f', 2, long);
constexpr int kImmutable = 0x10;

// Files that nobody can remove, root neither, until it goes out of scope.
class Immutable {
 public:
  ~Immutable() {
    for (const FileDescriptor& file : files_) set(file, false);
  }
  // False where the file system, or who asks, cannot do it.
  bool add(const std::string& path) {
    files_.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return set(files_.back(), true);
  }

 private:
  static bool set(const FileDescriptor& file, bool immutable) {
    int flags = 0;
    if (::ioctl(file.get(), kGetFlags, &flags) != 0) return false;
    flags = immutable ? flags | kImmutable : flags & ~kImmutable;
    return ::ioctl(file.get(), kSetFlags, &flags) == 0;
  }

  std::vector<FileDescriptor> files_;
};

plan::RunPlan plan_that_keeps_one(const std::string& folder) {
  plan::RunPlan plan = testing::tiny_plan(folder, "out", 8);
  plan.saving.interval = {"steps", 1};
  plan.saving.total_limit = 1;
  return plan;
}

std::vector<std::string> leftovers_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (storage::is_leftover_name(name)) names.push_back(name);
  }
  return names;
}

}  // namespace

TEST_CASE("trash that was there goes with the next save, whether or not there is a limit") {
  const testing::TemporaryDirectory folder;
  plan::RunPlan plan = plan_that_keeps_one(folder.path());
  if (GENERATE(true, false)) plan.saving.total_limit.reset();
  create_directories(plan.output_dir + "/.checkpoint-7.trash-1-1");
  REQUIRE(leftovers_in(plan.output_dir).size() == 1);
  testing::train(plan);
  CHECK(leftovers_in(plan.output_dir).empty());
}

TEST_CASE("a checkpoint that cannot be removed ends no training, and goes when it can") {
  const testing::TemporaryDirectory folder;
  plan::RunPlan plan = plan_that_keeps_one(folder.path());
  bool possible = true;
  {
    Immutable immutable;
    const testing::Seen seen = testing::train(plan, [&](const State& state, Control&) {
      const std::string first = storage::checkpoint_path(plan.output_dir, 1);
      if (state.global_step == 2) possible = immutable.add(first + "/trainer_state.json");
    });
    if (!possible)
      HFTRAIN_SKIP("a file system with immutable files for temporary ones, and the right to make one");
    CHECK(seen.steps == 4);
    CHECK(seen.outcome.code == ExitCode::kDone);
    CHECK(storage::list_checkpoints(plan.output_dir).size() == 1);
    CHECK(leftovers_in(plan.output_dir).size() == 1);
  }
  plan.saving.resume_from = storage::checkpoint_path(plan.output_dir, 4);
  plan.steps.max_steps = 5;
  testing::train(plan);
  CHECK(leftovers_in(plan.output_dir).empty());
}

}  // namespace hftrain::trainer
