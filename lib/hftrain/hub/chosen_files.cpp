#include "hftrain/hub/chosen_files.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::hub {
namespace {

constexpr std::array<std::string_view, 11> kPickles = {
    ".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".dill", ".nemo", ".mar", ".npy"};
constexpr std::array<std::string_view, 10> kOthers = {".h5", ".msgpack", ".onnx",    ".onnx_data", ".tflite",
                                                      ".ot", ".gguf",    ".mlmodel", ".keras",     ".pb"};

// Of a data set that has none of its rows in anything else: what tells of it, or loads it.
constexpr std::array<std::string_view, 10> kWithoutRows = {
    ".md",       ".py", ".yaml", ".yml", ".bib", ".cff", "license", "dataset_infos.json", ".gitattributes",
    ".gitignore"};

template <size_t kSize>
bool ends_with_one_of(const std::string& path, const std::array<std::string_view, kSize>& endings) {
  const std::string name = to_lower(path);
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

[[noreturn]] void refuse_weights(const Repository& repository, const ChosenFiles& files) {
  const bool pickled = !files.pickles.empty();
  throw Error(ExitCode::kData, repository.id + " has no weights in safetensors files")
      .where((pickled ? files.pickles : files.others).front())
      .why(
          pickled
              ? "its weights are pickles, which may run a program when they are opened, and are never fetched"
              : "its weights are those of another framework")
      .hint(
          "a revision that has them (--revision refs/pr/N, where the Hub's converter offers one), or convert "
          "them "
          "with transformers: AutoModel.from_pretrained(NAME).save_pretrained(FOLDER)");
}

bool may_have_rows(const RemoteFile& file) {
  const size_t name = file.path.rfind('/') + 1;  // 0 without a folder
  return !to_lower(file.path.substr(name)).starts_with("license.") &&
         !ends_with_one_of(file.path, kWithoutRows);
}

[[noreturn]] void refuse_pickles(const Repository& repository, const ChosenFiles& files) {
  throw Error(ExitCode::kData, repository.id + " has nothing but pickles")
      .where(files.pickles.front())
      .why("a pickle may run a program when it is opened, and is never fetched")
      .hint("a revision with Parquet files (--revision refs/convert/parquet, where the Hub offers one)");
}

}  // namespace

ChosenFiles choose_files(const Repository& repository, std::vector<RemoteFile> files) {
  ChosenFiles chosen;
  const bool model = repository.kind == Kind::kModel;
  bool weights = false;
  for (RemoteFile& file : files) {
    weights = weights || file.path.ends_with(".safetensors");
    if (ends_with_one_of(file.path, kPickles)) {
      chosen.pickles.push_back(file.path);
    } else if (model && ends_with_one_of(file.path, kOthers)) {
      chosen.others.push_back(file.path);
    } else {
      chosen.taken.push_back(std::move(file));
    }
  }
  if (model && !weights && !(chosen.pickles.empty() && chosen.others.empty()))
    refuse_weights(repository, chosen);
  if (!chosen.pickles.empty() && std::none_of(chosen.taken.begin(), chosen.taken.end(), may_have_rows))
    refuse_pickles(repository, chosen);
  return chosen;
}

}  // namespace hftrain::hub
