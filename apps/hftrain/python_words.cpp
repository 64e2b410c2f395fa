#include "python_words.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/task_words.h"

namespace hftrain::app {
namespace {

constexpr std::array<std::string_view, 8> kLaunchers = {"launch",     "torchrun",  "python", "python3",
                                                        "accelerate", "deepspeed", "trl",    "mpirun"};

}  // namespace

std::string instead_of_python(const std::string& word) {
  const std::filesystem::path path(word);
  const std::string stem = path.stem().string();
  const bool script = path.extension() == ".py";
  if (const std::string_view task = arguments::task_of_script(stem); !task.empty())
    return "`hftrain --task " + std::string(task) + " FLAGS`, with the flags of the script";
  if (stem == "run_classification")
    return "`hftrain --task text-classification FLAGS`, with the flags of run_glue";
  if (script) return "`hftrain FLAGS`: it takes the flags of the example scripts, and runs no Python";
  if (std::ranges::find(kLaunchers, word) != kLaunchers.end())
    return "leave it out: `hftrain FLAGS` starts its ranks itself";
  return arguments::flag_table().named("task").choice(word) == nullptr
             ? ""
             : "`hftrain --task " + word + " FLAGS`";
}

}  // namespace hftrain::app
