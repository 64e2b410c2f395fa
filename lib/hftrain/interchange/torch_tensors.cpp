#include "hftrain/interchange/torch_tensors.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hftrain/base/printable.h"
#include "hftrain/storage/tensor_size.h"

namespace hftrain::interchange {
namespace {

std::string number_bytes(float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

storage::StoredTensor stored_tensor(const std::string& name, const PickledTensor& tensor,
                                    const std::string& path) {
  if (!tensor.dense)
    throw unusable_state(path, "a tensor of '" + printable(name) + "' is not stored row by row");
  storage::StoredTensor stored;
  stored.entry = {name, tensor.dtype, tensor.shape.empty() ? std::vector<int64_t>{1} : tensor.shape};
  stored.bytes = tensor.bytes;
  return stored;
}

// The box that the numbers from `begin` on begin with, of at most `count`, that is filled by as many in one row.
struct RowBox {
  storage::Box box;
  uint64_t numbers = 0;
};
RowBox box_in_row(const std::vector<int64_t>& shape, uint64_t begin, uint64_t count) {
  RowBox found{{std::vector<int64_t>(shape.size(), 0), shape}, 1};
  uint64_t inner = 1, rest = begin;  // numbers in one step of the dim
  bool fits = true;                  // of the dims within: the box has all
  for (size_t dim = shape.size(); dim-- > 0;) {
    const auto size = static_cast<uint64_t>(shape[dim]);
    const uint64_t at = rest % size;
    rest /= size;
    const uint64_t steps = fits ? std::min(size - at, count / inner) : 1;
    found.box.offsets[dim] = static_cast<int64_t>(at);
    found.box.sizes[dim] = static_cast<int64_t>(steps);
    found.numbers *= steps;
    inner *= size;
    fits = fits && steps == size && inner <= count;
  }
  return found;
}

}  // namespace

Error unusable_state(const std::string& path, std::string why) {
  return Error(ExitCode::kData, "the Trainer's state cannot be gone on from")
      .where(path)
      .why(std::move(why))
      .hint("--model_name_or_path starts a new run from the checkpoint's weights alone");
}

storage::SlicedTensor TorchTensors::add(const std::string& name, const TorchValue& value,
                                        const std::string& path) {
  if (value.kind() == TorchValue::Kind::kTensor)
    return keep(stored_tensor(name, value.tensor("a state"), path), path);
  storage::StoredTensor number;
  number.entry = {name, storage::DType::kF32, {1}};
  number.bytes = own_bytes_.emplace_back(number_bytes(static_cast<float>(value.number("a counter"))));
  return keep(std::move(number), path);
}

storage::SlicedTensor TorchTensors::add(const std::string& name, const TorchValue& value,
                                        std::vector<int64_t> shape, const std::string& path) {
  storage::StoredTensor stored = stored_tensor(name, value.tensor("a tensor"), path);
  const uint64_t numbers = stored.entry.elements();
  stored.entry.shape = std::move(shape);
  if (!storage::checked_bits(stored.entry) || stored.entry.elements() != numbers)
    throw unusable_state(path, "'" + printable(name) + "' has another number of numbers than its shape");
  return keep(std::move(stored), path);
}

void TorchTensors::add_range(storage::SlicedTensor& whole, const TorchValue& row, const Range& range,
                             const storage::TensorEntry& entry, const std::string& path) {
  const storage::StoredTensor numbers = stored_tensor(entry.name, row.tensor("a group's numbers"), path);
  const bool first = whole.shape.empty();
  if (first)
    whole = {
        entry.name, numbers.entry.dtype, entry.shape.empty() ? std::vector<int64_t>{1} : entry.shape, {}};
  if (numbers.entry.dtype != whole.dtype)
    throw unusable_state(path, '\'' + printable(entry.name) + "' has another type than in another file");
  storage::TensorEntry of_whole{entry.name, whole.dtype, whole.shape};
  const bool fits = storage::checked_bits(of_whole) && range.count <= numbers.entry.elements() &&
                    range.from <= numbers.entry.elements() - range.count &&
                    range.count <= of_whole.elements() && range.begin <= of_whole.elements() - range.count;
  if (!fits)
    throw unusable_state(path, '\'' + printable(entry.name) + "' has a range that lies outside of it");
  const uint64_t width = static_cast<uint64_t>(storage::dtype_bits(whole.dtype)) / 8;
  for (uint64_t done = 0; done < range.count;) {
    const RowBox part = box_in_row(whole.shape, range.begin + done, range.count - done);
    storage::StoredTensor stored;
    stored.entry = {entry.name, whole.dtype, part.box.sizes};
    stored.bytes = numbers.bytes.substr((range.from + done) * width, part.numbers * width);
    whole.slices.push_back({part.box, &store(std::move(stored), path)});
    done += part.numbers;
  }
}

const storage::StoredTensor& TorchTensors::store(storage::StoredTensor stored, const std::string& path) {
  if (stored_.size() >= most_)
    throw unusable_state(path, "it has more than " + std::to_string(most_) + " tensors");
  return stored_.emplace_back(std::move(stored));
}

storage::SlicedTensor TorchTensors::keep(storage::StoredTensor stored, const std::string& path) {
  const storage::StoredTensor& kept = store(std::move(stored), path);
  const std::vector<int64_t> begin(kept.entry.shape.size(), 0);
  return {kept.entry.name, kept.entry.dtype, kept.entry.shape, {{{begin, kept.entry.shape}, &kept}}};
}

}  // namespace hftrain::interchange
