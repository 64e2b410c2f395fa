#include "hftrain/checkpoint/tensor_bytes.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <array>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::checkpoint {
namespace {

using storage::DType;

constexpr std::array<std::pair<DType, at::ScalarType>, 13> kTypes = {{
    {DType::kBool, at::kBool},
    {DType::kU8, at::kByte},
    {DType::kI8, at::kChar},
    {DType::kF8E5M2, at::kFloat8_e5m2},
    {DType::kF8E4M3, at::kFloat8_e4m3fn},
    {DType::kI16, at::kShort},
    {DType::kF16, at::kHalf},
    {DType::kBF16, at::kBFloat16},
    {DType::kI32, at::kInt},
    {DType::kF32, at::kFloat},
    {DType::kC64, at::kComplexFloat},
    {DType::kF64, at::kDouble},
    {DType::kI64, at::kLong},
}};

}  // namespace

at::ScalarType scalar_type_of(DType dtype) {
  for (const auto& [stored, type] : kTypes) {
    if (stored == dtype) return type;
  }
  throw Error(ExitCode::kData,
              std::string("tensors of type ") + storage::dtype_name(dtype) + " cannot be used")
      .where("the stored tensors")
      .why("hftrain has no tensors of that type")
      .hint("write the tensors as F32, BF16 or F16");
}

DType dtype_of(at::ScalarType type) {
  for (const auto& [stored, known] : kTypes) {
    if (known == type) return stored;
  }
  throw Error(ExitCode::kInternal, std::string("no stored form for tensors of type ") + c10::toString(type));
}

std::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

at::Tensor to_host(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  if (tensor.is_cpu()) return tensor.detach().contiguous();
  return host_memory_for(tensor, tensor.scalar_type()).copy_(tensor);
}

at::Tensor host_memory_for(const at::Tensor& tensor, at::ScalarType type) {
  // Pinned memory is kept for ever, in blocks of powers of two: not for a large table.
  constexpr size_t kMostPinned = size_t{256} << 20;
  const bool pinned = !tensor.is_cpu() && tensor.nbytes() <= kMostPinned;
  return at::empty(tensor.sizes(), at::TensorOptions().dtype(type).pinned_memory(pinned));
}

}  // namespace hftrain::checkpoint
