#include "hftrain/nn/relative_position.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/log.h>
#include <ATen/ops/where.h>

#include <cmath>

#include "hftrain/nn/kept_tensors.h"

namespace hftrain::nn {

namespace {

struct Distances {
  int64_t queries = 0, keys = 0, past = 0;
  RelativePositions positions;

  bool operator==(const Distances&) const = default;
};

at::Tensor make_buckets(const Distances& of, at::Device device) {
  const at::NoGradGuard no_grad;
  const auto& [queries, keys, past, positions] = of;
  const auto options = at::TensorOptions(device).dtype(at::kLong);
  const at::Tensor offset =
      at::arange(keys, options).unsqueeze(0) - at::arange(past, past + queries, options).unsqueeze(1);
  const int64_t buckets = positions.bidirectional ? positions.buckets / 2 : positions.buckets;
  const at::Tensor distance = positions.bidirectional ? offset.abs() : offset.neg().clamp_min(0);
  const int64_t exact = buckets / 2;
  const double range = std::log(static_cast<double>(positions.max_distance) / static_cast<double>(exact));
  const at::Tensor log_distance = at::log(distance.to(at::kFloat) / static_cast<double>(exact));
  // Distance 0 has a logarithm of -inf, which no integer holds; it is among the exact ones.
  const at::Tensor far =
      (log_distance.clamp_min(0) / range * static_cast<double>(buckets - exact)).to(at::kLong) + exact;
  const at::Tensor bucket = at::where(distance < exact, distance, far.clamp_max(buckets - 1));
  return positions.bidirectional ? bucket + (offset > 0).to(at::kLong) * buckets : bucket;
}

}  // namespace

at::Tensor relative_buckets(int64_t queries, int64_t keys, const RelativePositions& positions,
                            at::Device device, int64_t past) {
  const Distances of{queries, keys, past, positions};
  // A text that is being written asks for another row at each step, and never again for that.
  if (past > 0) return make_buckets(of, device);
  static KeptTensors<Distances>* const buckets =
      new KeptTensors<Distances>;  // outlives whatever is destroyed at exit
  return buckets->get(of, device, [&] { return make_buckets(of, device); });
}

at::Tensor relative_bias(const at::Tensor& table, const at::Tensor& buckets) {
  return at::embedding(table, buckets).permute({2, 0, 1}).unsqueeze(0);
}

}  // namespace hftrain::nn
