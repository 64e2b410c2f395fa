#include "python_words.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "hftrain/arguments/flag_table.h"

namespace hftrain::app {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kScripts = {{
    {"run_clm", "clm"},
    {"run_mlm", "mlm"},
    {"run_glue", "text-classification"},
    {"run_ner", "token-classification"},
    {"run_qa", "question-answering"},
    {"run_summarization", "summarization"},
    {"run_translation", "translation"},
    {"run_image_classification", "image-classification"},
    {"sft", "sft"},
}};
constexpr std::array<std::string_view, 8> kLaunchers = {"launch",     "torchrun",  "python", "python3",
                                                        "accelerate", "deepspeed", "trl",    "mpirun"};

}  // namespace

std::string instead_of_python(const std::string& word) {
  const std::filesystem::path path(word);
  const std::string stem = path.stem().string();
  const bool script = path.extension() == ".py";
  for (const auto& [name, task] : kScripts) {
    if (name == stem) return "`hftrain --task " + std::string(task) + " FLAGS`, with the flags of the script";
  }
  if (script) return "`hftrain FLAGS`: it takes the flags of the example scripts, and runs no Python";
  if (std::ranges::find(kLaunchers, word) != kLaunchers.end())
    return "leave it out: `hftrain FLAGS` starts its ranks itself";
  return arguments::flag_table().named("task").choice(word) == nullptr
             ? ""
             : "`hftrain --task " + word + " FLAGS`";
}

}  // namespace hftrain::app
