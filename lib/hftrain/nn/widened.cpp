#include "hftrain/nn/widened.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include <algorithm>

namespace hftrain::nn {
namespace {

constexpr int64_t kStripNumbers = int64_t{1} << 20;  // of the longer operand that are widened at a time
constexpr int64_t kLeastStrip = 64;                  // rows or columns, for a product that is worth its call

at::Tensor widened(const at::Tensor& matrix) {
  return matrix.to(at::kBFloat16).to(at::kFloat);
}

void multiply_strip(at::Tensor out, const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias,
                    bool add) {
  if (out.scalar_type() == at::kFloat && add) {
    out.addmm_(left, right);
  } else if (out.scalar_type() == at::kFloat) {
    bias.defined() ? at::addmm_out(out, bias, left, right) : at::mm_out(out, left, right);
  } else {
    at::Tensor sum = bias.defined() ? at::addmm(bias, left, right) : at::mm(left, right);
    if (add) sum.add_(out);
    out.copy_(sum);
  }
}

}  // namespace

bool widens_bfloat16() {
  static const bool widens = [] {
    const auto asked = c10::Dispatcher::singleton().findSchema({"mkldnn::_is_mkldnn_bf16_supported", ""});
    return !asked || !asked->typed<bool()>().call();  // a LibTorch without oneDNN has nothing quicker either
  }();
  return widens;
}

void widened_product(at::Tensor& out, const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias,
                     bool add) {
  const at::NoGradGuard no_grad;
  const int64_t rows = left.size(0), inner = left.size(1), columns = right.size(1);
  const bool by_rows = rows >= columns;
  const int64_t length = by_rows ? rows : columns;
  const int64_t strip = std::max(kLeastStrip, kStripNumbers / std::max<int64_t>(inner, 1));
  const at::Tensor whole = widened(by_rows ? right : left);
  const at::Tensor wide_bias = bias.defined() ? bias.to(at::kFloat) : bias;
  for (int64_t begin = 0; begin < length; begin += strip) {
    const int64_t count = std::min(strip, length - begin);
    if (by_rows) {
      multiply_strip(out.narrow(0, begin, count), widened(left.narrow(0, begin, count)), whole, wide_bias,
                     add);
    } else {
      multiply_strip(out.narrow(1, begin, count), whole, widened(right.narrow(1, begin, count)),
                     wide_bias.defined() ? wide_bias.narrow(0, begin, count) : wide_bias, add);
    }
  }
}

}  // namespace hftrain::nn
