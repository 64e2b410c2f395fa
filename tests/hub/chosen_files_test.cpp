#include "hftrain/hub/chosen_files.h"

#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"

using hftrain::Error;
using hftrain::hub::choose_files;
using hftrain::hub::Kind;
using hftrain::hub::RemoteFile;

namespace {

std::vector<RemoteFile> files_called(const std::vector<std::string>& names) {
  std::vector<RemoteFile> files;
  for (const std::string& name : names) files.push_back({.path = name, .size = 1, .hash = "x"});
  return files;
}

std::vector<std::string> names_of(const std::vector<RemoteFile>& files) {
  std::vector<std::string> names;
  for (const RemoteFile& file : files) names.push_back(file.path);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("chosen files: pickles are never among them, whatever the repository is", "[hub]") {
  const Names named = {"model.safetensors", "pytorch_model.bin", "optimizer.PT", "x/y.pkl", "config.json"};
  for (const Kind kind : {Kind::kModel, Kind::kDataset}) {
    const auto chosen = choose_files({"org/name", kind}, files_called(named));
    CHECK(names_of(chosen.taken) == Names{"model.safetensors", "config.json"});
    CHECK(chosen.pickles == Names{"pytorch_model.bin", "optimizer.PT", "x/y.pkl"});
  }
}

TEST_CASE("chosen files: weights that nothing here reads are left out of a model", "[hub]") {
  const Names named = {"model.safetensors", "tf_model.h5", "onnx/model.onnx"};
  const auto model = choose_files({"org/name", Kind::kModel}, files_called(named));
  CHECK(names_of(model.taken) == Names{"model.safetensors"});
  CHECK(model.others == Names{"tf_model.h5", "onnx/model.onnx"});
  CHECK(choose_files({"org/name", Kind::kDataset}, files_called({"a.h5"})).taken.size() == 1);
}

TEST_CASE("chosen files: a data set whose rows are all pickles is refused, whatever tells of it", "[hub]") {
  const Names telling = {"README.md", ".gitattributes",     "LICENSE", "license.txt",
                         "loader.py", "dataset_infos.json", "x.pkl"};
  CHECK_REFUSED(choose_files({"org/rows", Kind::kDataset}, files_called(telling)),
                "org/rows has nothing but pickles");
  for (const char* rows : {"train.parquet", "train.txt", "a.json", "pictures/a.png", "train"})
    CHECK(
        choose_files({"org/rows", Kind::kDataset}, files_called({"README.md", "x.pkl", rows})).taken.size() ==
        2);
  CHECK(choose_files({"org/rows", Kind::kDataset}, files_called({"README.md"})).taken.size() == 1);
}

TEST_CASE("chosen files: a model whose weights are all pickles is refused", "[hub]") {
  try {
    choose_files({"org/name", Kind::kModel}, files_called({"config.json", "pytorch_model.bin"}));
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(error.code() == hftrain::ExitCode::kData);
    CHECK(error.diagnostics().front().where == "pytorch_model.bin");
  }
  CHECK_REFUSED(choose_files({"org/name", Kind::kModel}, files_called({"model.onnx"})),
                "org/name has no weights in safetensors files");
  CHECK(choose_files({"org/name", Kind::kModel}, files_called({"tokenizer.json"})).taken.size() == 1);
}
