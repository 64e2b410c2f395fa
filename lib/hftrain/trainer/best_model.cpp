#include "hftrain/trainer/best_model.h"

#include <filesystem>
#include <limits>

#include "hftrain/base/file.h"
#include "hftrain/storage/checkpoint_folder.h"

namespace hftrain::trainer {

std::vector<std::string> places_of_best(const State& state, const std::string& output_dir,
                                        const std::string& resumed_from) {
  if (state.best_checkpoint.empty()) return {};
  const std::string beside = std::filesystem::path(resumed_from).parent_path().string();
  return {storage::checkpoint_path(output_dir, state.best_checkpoint_step), state.best_checkpoint,
          storage::checkpoint_path(beside, state.best_checkpoint_step)};
}

std::optional<size_t> place_of_best(const std::vector<std::string>& places) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (path_exists(places[i])) return i;
  }
  return std::nullopt;
}

double worst_metric(bool greater_is_better) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return greater_is_better ? -kInfinity : kInfinity;
}

bool better_than(std::optional<double> best, double value, bool greater_is_better) {
  const double bar = best.value_or(worst_metric(greater_is_better));
  return greater_is_better ? value > bar : value < bar;
}

}  // namespace hftrain::trainer
