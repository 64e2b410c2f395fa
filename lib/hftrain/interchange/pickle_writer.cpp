#include "hftrain/interchange/pickle_writer.h"

#include <array>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::interchange {
namespace {

struct StorageName {
  storage::DType dtype;
  const char* name;
};
constexpr std::array kStorageNames{
    StorageName{storage::DType::kF32, "FloatStorage"}, StorageName{storage::DType::kF64, "DoubleStorage"},
    StorageName{storage::DType::kF16, "HalfStorage"},  StorageName{storage::DType::kBF16, "BFloat16Storage"},
    StorageName{storage::DType::kU8, "ByteStorage"},   StorageName{storage::DType::kI64, "LongStorage"},
};

const char* storage_name(storage::DType dtype) {
  for (const StorageName& each : kStorageNames) {
    if (each.dtype == dtype) return each.name;
  }
  throw Error(ExitCode::kInternal, std::string("torch has no storage of ") + storage::dtype_name(dtype));
}

// `count` bytes of a number, the lowest first.
void append_bytes(std::string& text, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) text += static_cast<char>((value >> (8 * i)) & 0xff);
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;) strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

}  // namespace

PickleWriter::PickleWriter() : bytes_("\x80\x02") {}

void PickleWriter::open_dict() {
  bytes_ += "}(";
}
void PickleWriter::close_dict() {
  bytes_ += 'u';
}
void PickleWriter::open_list() {
  bytes_ += "](";
}
void PickleWriter::close_list() {
  bytes_ += 'e';
}
void PickleWriter::open_tuple() {
  bytes_ += '(';
}
void PickleWriter::close_tuple() {
  bytes_ += 't';
}
void PickleWriter::none() {
  bytes_ += 'N';
}
void PickleWriter::truth(bool value) {
  bytes_ += value ? '\x88' : '\x89';
}

void PickleWriter::integer(int64_t value) {
  const bool fits =
      value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
  bytes_ += fits ? "J" : "\x8a\x08";
  append_bytes(bytes_, static_cast<uint64_t>(value), fits ? 4 : 8);
}

void PickleWriter::number(double value) {
  bytes_ += 'G';
  append_bytes(bytes_, __builtin_bswap64(std::bit_cast<uint64_t>(value)), 8);
}

void PickleWriter::text(std::string_view value) {
  bytes_ += 'X';
  append_bytes(bytes_, value.size(), 4);
  bytes_ += value;
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  bytes_ += 'c';
  bytes_ += module;
  bytes_ += '\n';
  bytes_ += name;
  bytes_ += '\n';
}

// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)
void PickleWriter::tensor(storage::DType dtype, const std::vector<int64_t>& shape, const std::string& key) {
  int64_t numbers = 1;
  for (const int64_t size : shape) numbers *= size;
  global("torch._utils", "_rebuild_tensor_v2");
  open_tuple();
  open_tuple();
  text("storage");
  global("torch", storage_name(dtype));
  text(key);
  text("cpu");
  integer(numbers);
  close_tuple();
  bytes_ += 'Q';
  integer(0);
  for (const std::vector<int64_t>& sizes : {shape, row_major_strides(shape)}) {
    open_tuple();
    for (const int64_t size : sizes) integer(size);
    close_tuple();
  }
  truth(false);
  global("collections", "OrderedDict");
  bytes_ += ")R";
  close_tuple();
  bytes_ += 'R';
}

std::string PickleWriter::finish() {
  bytes_ += '.';
  return std::move(bytes_);
}

}  // namespace hftrain::interchange
