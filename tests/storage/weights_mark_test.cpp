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

}  // namespace hftrain::storage
