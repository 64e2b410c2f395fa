#include "hftrain/storage/weights_mark.h"

#include <filesystem>

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

// A model of one tensor of 300 numbers, of which the one in the middle is given.
std::string model_file(float middle) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[300],"data_offsets":[0,1200]}})";
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  std::string numbers(1200, '\0');
  numbers.replace(600, 4, std::string(reinterpret_cast<const char*>(&middle), 4));
  return file + header + numbers;
}

// Zeros, of three tensors: the one in the middle is short, and lies between two blocks of those that are read.
constexpr size_t kLargeBytes = 12 << 20, kSecondTensor = 5 * (96 << 10), kSecondBytes = 4000;

std::string large_model_file() {
  const auto tensor = [](const std::string& name, size_t begin, size_t end) {
    return '"' + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(end - begin) +
           R"(],"data_offsets":[)" + std::to_string(begin) + ',' + std::to_string(end) + "]}";
  };
  constexpr size_t kThird = kSecondTensor + kSecondBytes;
  const std::string header = '{' + tensor("a", 0, kSecondTensor) + ',' + tensor("b", kSecondTensor, kThird) +
                             ',' + tensor("c", kThird, kLargeBytes) + '}';
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return file + header + std::string(kLargeBytes, '\0');
}

}  // namespace

TEST_CASE("The mark of weights is that of a copy and not that of others of the same shape") {
  const testing::TemporaryDirectory first, copy, other, none;
  write_file_atomically(first / "model.safetensors", model_file(1));
  write_file_atomically(copy / "model.safetensors", model_file(1));
  write_file_atomically(other / "model.safetensors", model_file(2));
  CHECK(weights_mark(first.path()) == weights_mark(copy.path()));
  CHECK(weights_mark(first.path()) != weights_mark(other.path()));
  CHECK(weights_mark(none.path()).empty());
  CHECK(adapter_mark(first.path()).empty());
  write_file_atomically(first / "adapter_model.safetensors", model_file(1));
  write_file_atomically(other / "adapter_model.safetensors", model_file(2));
  CHECK(adapter_mark(first.path()) == weights_mark(first.path()));
  CHECK(adapter_mark(other.path()) != adapter_mark(first.path()));
}

TEST_CASE("The files of weights are told from others of their names, wherever in them the bytes differ") {
  const testing::TemporaryDirectory folder, none;
  const std::string path = folder / "model.safetensors";
  write_file_atomically(path, model_file(1));
  const std::string small = weight_files(folder.path()).at("model.safetensors");
  write_file_atomically(path, model_file(2));
  CHECK(weight_files(folder.path()).at("model.safetensors") != small);
  CHECK(weight_files(none.path()).empty());
  CHECK(adapter_files(folder.path()).empty());
  write_file_atomically(folder / "adapter_model.safetensors", model_file(1));
  CHECK(adapter_files(folder.path()).at("adapter_model.safetensors") == small);

  // Of one that is not read as a whole: its first tensor, its last bytes, and the middle of a tensor that no block meets.
  std::string large = large_model_file();
  const size_t data = large.size() - kLargeBytes;
  const auto mark_with = [&](size_t changed) {
    std::string other = large;
    other[changed] = 1;
    write_file_atomically(path, other);
    return weight_files(folder.path()).at("model.safetensors");
  };
  write_file_atomically(path, large);
  const std::string whole = weight_files(folder.path()).at("model.safetensors");
  CHECK(weight_files(folder.path()).at("model.safetensors") == whole);
  CHECK(mark_with(data) != whole);
  CHECK(mark_with(large.size() - 1) != whole);
  CHECK(mark_with(data + kSecondTensor + kSecondBytes / 2) != whole);
  CHECK(weight_files(folder.path()).size() == 1);
}

}  // namespace hftrain::storage
