#include "hftrain/interchange/torch_file.h"

#include <cstring>
#include <fstream>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/interchange/torch_writer.h"
#include "hftrain/interchange/zip_writer.h"
#include "support/catch.h"
#include "support/python.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::interchange {
namespace {

using testing::TemporaryDirectory;

std::string bytes_of_floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

void write_state(const std::string& path) {
  storage::PosixFileSystem files;
  TorchWriter file;
  PickleWriter& values = file.values();
  values.open_dict();
  values.text("matrix");
  file.tensor(storage::DType::kF32, {2, 3}, [](const ByteSink& sink) {
    const std::string bytes = bytes_of_floats({1, 2, 3, 4, 5, 6});
    sink(bytes.substr(0, 5));
    sink(bytes.substr(5));
  });
  values.text("scalar");
  file.tensor(storage::DType::kF32, {}, [](const ByteSink& sink) { sink(bytes_of_floats({7})); });
  values.text("rates");
  values.open_list();
  values.number(0.25);
  values.integer(3);
  values.close_list();
  values.close_dict();
  file.finish(files, path);
}

// The why of what asking refuses.
template <typename Ask>
std::string refused(Ask ask) {
  try {
    ask();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.diagnostics().front().why;
  }
  return "";
}

TEST_CASE("tensors and values of a written file are read from it") {
  const TemporaryDirectory folder;
  write_state(folder / "state.pt");
  const TorchFile file(folder / "state.pt");
  file.check();
  const PickledTensor& matrix = file.root().at("matrix").tensor("matrix");
  CHECK(matrix.shape == std::vector<int64_t>{2, 3});
  CHECK(std::string(matrix.bytes) == bytes_of_floats({1, 2, 3, 4, 5, 6}));
  CHECK(file.root().at("scalar").number("scalar") == 7);
  const std::vector<TorchValue> rates = file.root().at("rates").items("rates");
  REQUIRE(rates.size() == 2);
  CHECK(rates[0].number("a rate") == 0.25);
  CHECK(rates[1].number("a rate") == 3);
  CHECK(!file.root().find("nothing"));
}

TEST_CASE("a value of another kind than asked for is refused in words") {
  const TemporaryDirectory folder;
  write_state(folder / "state.pt");
  const TorchFile file(folder / "state.pt");
  CHECK(refused([&] { file.root().at("rates").tensor("the state"); }) ==
        "the state is a list and not a tensor");
  CHECK(refused([&] { file.root().at("matrix").number("a counter"); }) ==
        "a counter is a tensor and not a number");
  CHECK(refused([&] { file.root().items("groups"); }) == "groups is a dict and not a list");
  CHECK(refused([&] { file.root().at("step"); }) == "there is no 'step' in it");
}

TEST_CASE("files that torch.save does not write are refused") {
  const TemporaryDirectory folder;
  const std::string path = folder / "state.pt";
  const auto written = [&](const std::vector<std::pair<std::string, std::string>>& entries) {
    storage::PosixFileSystem files;
    ZipWriter zip(files, path, 0);
    for (const auto& [name, bytes] : entries) zip.add(name, bytes);
    zip.finish();
    return refused([&] { TorchFile{path}; });
  };
  CHECK(written({{"state/version", "3"}}) == "it holds no data.pkl");
  CHECK(written({{"state/data.pkl", "\x80\x02N."}, {"state/byteorder", "big"}}) ==
        "its numbers are not little-endian");
  CHECK(written({{"state/data.pkl", "\x80\x02N."}}).empty());
  std::ofstream(path) << "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";  // torch before 1.6
  CHECK(!refused([&] { TorchFile{path}; }).empty());
}

TEST_CASE("torch.load reads with weights_only what is written, also mapped", "[parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with torch: set HFTRAIN_TEST_PYTHON");
  const TemporaryDirectory folder;
  write_state(folder / "state.pt");
  const testing::PythonResult result = testing::run_python(
      "import sys, torch\n"
      "for mapped in (False, True):\n"
      "    state = torch.load(sys.argv[1], weights_only=True, mmap=mapped)\n"
      "    assert state['matrix'].tolist() == [[1, 2, 3], [4, 5, 6]], state\n"
      "    assert state['scalar'].shape == () and state['scalar'] == 7\n"
      "    assert state['rates'] == [0.25, 3]\n",
      {folder / "state.pt"});
  INFO(result.output);
  CHECK(result.exit_code == 0);
}

}  // namespace
}  // namespace hftrain::interchange
