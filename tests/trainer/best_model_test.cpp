#include "hftrain/trainer/best_model.h"

#include <cmath>
#include <filesystem>

#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::trainer {
namespace {

std::string find_best_checkpoint(const State& state, const std::string& output_dir,
                                 const std::string& resumed_from) {
  const std::vector<std::string> places = places_of_best(state, output_dir, resumed_from);
  const std::optional<size_t> found = place_of_best(places);
  return found ? places.at(*found) : "";
}

TEST_CASE("the best checkpoint is found again where the output folder went, and forgotten where it is gone",
          "[trainer]") {
  const testing::TemporaryDirectory folder;
  const std::string out = folder / "out", old = folder / "old";
  State state;
  CHECK(find_best_checkpoint(state, out, out + "/checkpoint-6").empty());
  state.best_checkpoint = old + "/checkpoint-4";
  state.best_checkpoint_step = 4;
  CHECK(find_best_checkpoint(state, out, out + "/checkpoint-6").empty());
  std::filesystem::create_directories(old + "/checkpoint-4");
  CHECK(find_best_checkpoint(state, out, out + "/checkpoint-6") == old + "/checkpoint-4");
  std::filesystem::create_directories(out + "/checkpoint-4");
  CHECK(find_best_checkpoint(state, out, out + "/checkpoint-6") == out + "/checkpoint-4");
  // Resumed from a run that was moved, into a folder of its own.
  state.best_checkpoint = folder / "nowhere/checkpoint-4";
  CHECK(find_best_checkpoint(state, folder / "new", out + "/checkpoint-6") == out + "/checkpoint-4");
}

TEST_CASE("NaN is no better than having no value, and never becomes the best", "[trainer]") {
  for (const bool greater : {true, false}) {
    CHECK_FALSE(better_than(std::nullopt, NAN, greater));
    CHECK_FALSE(better_than(std::nullopt, worst_metric(greater), greater));
    CHECK(better_than(std::nullopt, 3.0, greater));
    CHECK(better_than(worst_metric(greater), 3.0, greater));
    CHECK_FALSE(better_than(3.0, NAN, greater));
    CHECK_FALSE(better_than(3.0, 3.0, greater));
    CHECK(better_than(3.0, greater ? 4.0 : 2.0, greater));
  }
}

}  // namespace
}  // namespace hftrain::trainer
