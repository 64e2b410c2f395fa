#include "hftrain/cuda/cuda_runtime.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/PinnedMemoryAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <string_view>

namespace hftrain::cuda {
namespace {

constexpr auto kAggregate = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

std::string uuid_of(int ordinal) {
  cudaDeviceProp properties{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, ordinal));
  std::string text = "GPU";
  for (size_t i = 0; i < sizeof properties.uuid.bytes; ++i) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(properties.uuid.bytes[i]);
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return text;
}

class CudaRuntime final : public runtime::DeviceRuntime {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  int device_count() const override { return static_cast<int>(c10::cuda::device_count()); }
  std::string uuid(c10::Device device) const override { return uuid_of(device.index()); }
  // The allocator knows its devices from then on: whoever asks for its numbers may come before the first tensor.
  void set_current(c10::Device device) const override {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    c10::cuda::set_device(device.index());
  }
  void synchronise(c10::Device device) const override {
    const c10::cuda::CUDAGuard guard(device);
    c10::cuda::device_synchronize();
  }
  at::Generator generator(c10::Device device) const override {
    return at::cuda::detail::getDefaultCUDAGenerator(device.index());
  }
  c10::Allocator* pinned_allocator() const override { return at::cuda::getPinnedMemoryAllocator(); }

  runtime::DeviceMemory memory(c10::Device device) const override {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
    // Known once: cudaMemGetInfo is a call of the driver, under the lock that launches take, and the live line asks often.
    const size_t total = at::cuda::getDeviceProperties(device.index())->totalGlobalMem;
    return {.allocated = stats.allocated_bytes[kAggregate].current,
            .peak_allocated = stats.allocated_bytes[kAggregate].peak,
            .reserved = stats.reserved_bytes[kAggregate].current,
            .peak_reserved = stats.reserved_bytes[kAggregate].peak,
            .total = static_cast<int64_t>(total)};
  }
  void restart_peak(c10::Device device) const override {
    c10::cuda::CUDACachingAllocator::resetPeakStats(device.index());
  }
  void empty_cache() const override { c10::cuda::CUDACachingAllocator::emptyCache(); }
};

}  // namespace

std::string unusable_because() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  static_cast<void>(cudaGetLastError());  // the status is sticky otherwise
  if (status != cudaSuccess) return cudaGetErrorString(status);
  return count > 0 ? "" : "no CUDA device is visible";
}

std::unique_ptr<runtime::DeviceRuntime> make_cuda_runtime() {
  return std::make_unique<CudaRuntime>();
}

}  // namespace hftrain::cuda
