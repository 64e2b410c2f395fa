#include "hftrain/nn/quantised_matrices.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace hftrain::nn {
namespace {

constexpr int64_t kWorthACopy = int64_t{1} << 10;  // numbers of a matrix

thread_local QuantisedMatrices* t_quantised = nullptr;

const void* memory_of(const at::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl();
}

bool is_worth_a_copy(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.dim() == 2 &&
         tensor.numel() >= kWorthACopy && tensor.has_storage();
}

// The smallest number of rows worth giving to one thread.
int64_t grain_of(const at::Tensor& matrix) {
  constexpr int64_t kWorthSharing = int64_t{1} << 17;  // numbers that are read
  return std::max<int64_t>(1, kWorthSharing / (matrix.size(0) * cpu::QuantisedMatrix::kGroup));
}

}  // namespace

size_t QuantisedMatrices::PlaceHash::operator()(const Place& place) const {
  size_t hash = std::hash<const void*>()(place.data);
  for (const int64_t number : {place.rows, place.columns, place.row_stride, place.column_stride})
    hash = hash * 1'000'003 + static_cast<size_t>(number);
  return hash;
}

QuantisedMatrices::QuantisedMatrices(std::span<const at::Tensor> parameters) {
  for (const at::Tensor& parameter : parameters) {
    if (is_worth_a_copy(parameter)) parameters_.emplace(memory_of(parameter), parameter);
  }
}

const cpu::QuantisedMatrix* QuantisedMatrices::find(const at::Tensor& matrix) {
  if (!is_worth_a_copy(matrix) || matrix.size(0) > cpu::QuantisedMatrix::kMostInner ||
      !parameters_.contains(memory_of(matrix)))
    return nullptr;
  const float* data = matrix.const_data_ptr<float>();
  const Place place{data, matrix.size(0), matrix.size(1), matrix.stride(0), matrix.stride(1)};
  if (const auto found = copies_.find(place); found != copies_.end()) return &found->second;
  cpu::QuantisedMatrix copy(matrix.size(0), matrix.size(1));
  const cpu::MatrixView view{data, matrix.stride(0), matrix.stride(1)};
  at::parallel_for(0, copy.groups(), grain_of(matrix), [&](int64_t first, int64_t last) {
    for (int64_t group = first; group < last; ++group) copy.pack(view, group);
  });
  return &copies_.emplace(place, std::move(copy)).first->second;
}

bool QuantisedMatrices::multiply(at::Tensor& out, const at::Tensor& row, const at::Tensor& matrix,
                                 const float* bias, bool add) {
  const cpu::QuantisedMatrix* copy = find(matrix);
  if (copy == nullptr) return false;
  const cpu::QuantisedRow left(row.const_data_ptr<float>(), row.size(1));
  float* target = out.data_ptr<float>();
  at::parallel_for(0, copy->groups(), grain_of(matrix), [&](int64_t first, int64_t last) {
    copy->multiply(left, bias, add, target, first, last);
  });
  return true;
}

QuantisedProducts::QuantisedProducts(QuantisedMatrices& matrices) : before_(t_quantised) {
  t_quantised = &matrices;
}

QuantisedProducts::~QuantisedProducts() {
  t_quantised = before_;
}

QuantisedMatrices* quantised_in_use() {
  return t_quantised;
}

}  // namespace hftrain::nn
