#include "hftrain/trainer/best_model.h"

#include <filesystem>

#include "hftrain/base/file.h"
#include "hftrain/storage/checkpoint_folder.h"

namespace hftrain::trainer {

std::string find_best_checkpoint(const State& state, const std::string& output_dir,
                                 const std::string& resumed_from) {
  if (state.best_checkpoint.empty()) return "";
  const std::string beside = std::filesystem::path(resumed_from).parent_path().string();
  for (const std::string& place :
       {storage::checkpoint_path(output_dir, state.best_checkpoint_step), state.best_checkpoint,
        storage::checkpoint_path(beside, state.best_checkpoint_step)}) {
    if (path_exists(place)) return place;
  }
  return "";
}

}  // namespace hftrain::trainer
