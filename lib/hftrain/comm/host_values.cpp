// Communicator: numbers and texts of the host.
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cstring>

#include "hftrain/comm/communicator.h"

namespace hftrain::comm {

// One rank alone asks nobody, and so no device: neither here nor in the two below.
double Communicator::sum(double value) {
  if (is_alone()) return value;
  const at::Tensor total = at::full({1}, value, at::TensorOptions(host().device()).dtype(at::kDouble));
  host().all_reduce(total, Reduction::kSum);
  return total.item<double>();
}

int64_t Communicator::maximum(int64_t value) {
  if (is_alone()) return value;
  const at::Tensor largest = at::full({1}, value, at::TensorOptions(host().device()).dtype(at::kLong));
  host().all_reduce(largest, Reduction::kMaximum);
  return largest.item<int64_t>();
}

std::vector<std::string> Communicator::all_gather_text(const std::string& text) {
  if (is_alone()) return {text};
  const auto integers = at::TensorOptions(host().device()).dtype(at::kLong);
  const at::Tensor lengths = at::empty({world_size()}, integers);
  host().all_gather(lengths, at::full({1}, static_cast<int64_t>(text.size()), integers));
  const at::Tensor sizes = lengths.cpu();
  const int64_t longest = sizes.max().item<int64_t>();

  const at::Tensor padded = at::zeros({longest}, at::kByte);
  if (!text.empty()) std::memcpy(padded.mutable_data_ptr(), text.data(), text.size());
  const at::Tensor gathered = at::empty({world_size(), longest}, padded.options().device(host().device()));
  host().all_gather(gathered, padded.to(host().device()));

  const at::Tensor rows = gathered.cpu();
  std::vector<std::string> texts;
  for (int64_t row = 0; row < world_size(); ++row) {
    texts.emplace_back(static_cast<const char*>(rows.const_data_ptr()) + row * longest,
                       static_cast<size_t>(sizes[row].item<int64_t>()));
  }
  return texts;
}

}  // namespace hftrain::comm
