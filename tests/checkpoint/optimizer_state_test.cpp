#include "hftrain/checkpoint/optimizer_state.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>

#include <filesystem>

#include "checkpoint/row_strategy.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/checkpoint/state_parts.h"
#include "hftrain/storage/sharded_state.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::checkpoint {
namespace {

using testing::RowStrategy;
using testing::TemporaryDirectory;
using testing::WholeTensor;

// Two kinds of numbers, a scalar, and fewer rows than some worlds have ranks.
std::vector<WholeTensor> adam() {
  return {{"w", "step", at::scalar_tensor(7, at::kFloat)},
          {"w", "exp_avg", at::arange(15, at::kFloat).view({5, 3})},
          {"w", "exp_avg_sq", at::arange(15, at::kFloat).view({5, 3}).to(at::kBFloat16)},
          {"b", "step", at::scalar_tensor(7, at::kFloat)},
          {"b", "exp_avg", at::arange(2, at::kFloat)}};
}

void save_optimizer_by(int world_size, const std::string& folder, const std::vector<WholeTensor>& state) {
  storage::PosixFileSystem files;
  for (int rank = 0; rank < world_size; ++rank) {
    RowStrategy strategy(rank, world_size, state);
    storage::StagedFiles staged(files, folder);
    DirectTarget target(staged);
    save_optimizer(strategy, rank, target);
  }
}

TEST_CASE("optimizer state goes from any number of ranks to any other") {
  const TemporaryDirectory folder;
  save_optimizer_by(GENERATE(1, 2, 4), folder.path(), adam());
  for (const int world_size : {1, 3}) {
    for (int rank = 0; rank < world_size; ++rank) {
      RowStrategy strategy(rank, world_size, adam());
      strategy.forget();
      load_optimizer(strategy, kept_states(strategy), folder.path());
      CHECK(strategy.equals_wholes());
    }
  }
}

TEST_CASE("a rank without parts makes no file, and an optimizer without state needs none") {
  const TemporaryDirectory folder;
  save_optimizer_by(3, folder.path(), {{"b", "exp_avg", at::arange(2, at::kFloat)}});
  CHECK(path_exists(folder / "optimizer/shard-00002-model-00001-of-00001.safetensors"));
  CHECK_FALSE(path_exists(folder / "optimizer/shard-00003-model-00001-of-00001.safetensors"));
  const TemporaryDirectory empty;
  save_optimizer_by(2, empty.path(), {});
  CHECK_FALSE(path_exists(empty / "optimizer"));
  RowStrategy none(0, 1, {});
  load_optimizer(none, {}, empty.path());
}

TEST_CASE("optimizer state that does not fit is refused by name") {
  const TemporaryDirectory folder;
  save_optimizer_by(2, folder.path(), adam());
  std::vector<WholeTensor> wanted = adam();
  std::string expected = "'w.exp_avg'";
  SECTION("another shape") {
    wanted[1].tensor = at::ones({6, 3});
  }
  SECTION("another optimizer") {
    wanted[1].state = "momentum_buffer";
    expected = "'w.momentum_buffer'";
  }
  SECTION("a state that no rank takes") {
    wanted.erase(wanted.begin() + 2);
    expected = "'w.exp_avg_sq'";
  }
  SECTION("an optimizer without any") {
    wanted.clear();
    expected = "keeps nothing of a parameter";
  }
  RowStrategy strategy(0, 1, wanted);
  try {
    load_optimizer(strategy, kept_states(strategy), folder.path());
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK_THAT(error.render(), Catch::Contains(expected));
  }
}

TEST_CASE("a rank that holds no part of what is saved leaves it to the others") {
  const TemporaryDirectory folder;
  save_optimizer_by(1, folder.path(), adam());
  RowStrategy none(0, 1, {});
  load_optimizer(none, {"step", "exp_avg", "exp_avg_sq"}, folder.path());
  CHECK_THROWS_AS(load_optimizer(none, {"step", "exp_avg"}, folder.path()), Error);
}

TEST_CASE("several parts of one tensor on a rank go to files of their own") {
  const TemporaryDirectory folder;
  storage::PosixFileSystem files;
  storage::StagedFiles staged(files, folder.path());
  const at::Tensor whole = at::arange(12, at::kFloat).view({4, 3});
  const auto show = [&](const parallel::StateVisitor& visitor, parallel::Access) {
    for (const int64_t row : {0, 2})
      visitor({"w", "", {4, 3}, {row, 0}, whole.narrow(0, row, row == 0 ? 1 : 2), true});
    visitor({"w", "", {4, 3}, {1, 0}, whole.narrow(0, 1, 1), true});
  };
  DirectTarget target(staged);
  save_parts(show, "parts", 0, target);
  CHECK(staged.records().size() == 3);
  const storage::ShardedState state(folder / "parts");
  at::Tensor copy = at::ones({4, 3});
  state.read("w", {{0, 0}, {4, 3}}, {static_cast<char*>(copy.mutable_data_ptr()), copy.nbytes()});
  CHECK(copy.equal(whole));
}

}  // namespace
}  // namespace hftrain::checkpoint
