#include "hftrain/nn/document_attention.h"

#include <ATen/SDPBackend.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_fused_sdp_choice.h>

#include <optional>

#include "hftrain/nn/device_attention.h"

namespace hftrain::nn {
namespace {

constexpr int64_t kHeadStep = 8;  // numbers; rows of LibTorch's own call are widened to it, these are not

// One row after another: [B·T, H, d].
at::Tensor tokens_of(const at::Tensor& x) {
  return x.reshape({-1, x.size(2), x.size(3)});
}

}  // namespace

bool takes_documents_at_once(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                             int64_t longest, const AttentionOptions& options) {
  const bool half = query.scalar_type() == at::kHalf || query.scalar_type() == at::kBFloat16;
  if (query.is_cpu() || !half || query.size(3) % kHeadStep != 0 || longest < 2) return false;
  // LibTorch knows what the device and the build have.
  const WithoutCuDnn for_this(true);
  const int64_t chosen =
      at::_fused_sdp_choice(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), {},
                            options.dropout, true, options.scale, key.size(2) != query.size(2));
  return chosen == static_cast<int64_t>(at::SDPBackend::flash_attention);
}

at::Tensor attention_within(const DocumentBounds& bounds, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, const AttentionOptions& options) {
  // Of a window the query's own key is one.
  const std::optional<int64_t> before =
      options.window && *options.window < bounds.longest ? std::optional(*options.window - 1) : std::nullopt;
  const at::Tensor out = std::get<0>(at::_flash_attention_forward(
      tokens_of(query), tokens_of(key), tokens_of(value), bounds.starts, bounds.starts, bounds.longest,
      bounds.longest, options.dropout, /*is_causal=*/true, /*return_debug_mask=*/false, options.scale, before,
      before ? std::optional<int64_t>(0) : std::nullopt));
  return out.reshape({query.size(0), query.size(1), -1});
}

}  // namespace hftrain::nn
