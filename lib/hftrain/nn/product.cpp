#include "hftrain/nn/product.h"

#include <ATen/Parallel.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "hftrain/nn/cpu/bgemm.h"
#include "hftrain/nn/cpu/narrow_product.h"
#include "hftrain/nn/cpu/sgemm.h"
#include "hftrain/nn/quantised_matrices.h"
#include "hftrain/nn/widened.h"

namespace hftrain::nn {
namespace {

constexpr int64_t kWorthPacking = int64_t{1} << 20;   // multiplications; below it MKL needs less preparation
constexpr int64_t kWorthWidening = int64_t{1} << 13;  // multiplications
constexpr int64_t kWorthWideningRows = 4;             // below it widening takes as long as the product
constexpr int64_t kWorthAThread = int64_t{1} << 16;   // numbers of a matrix that is read
constexpr int64_t kTile = 96;                         // strips of whole tiles, either way

thread_local bool t_narrow = false;

bool has_unit_stride(const at::Tensor& matrix) {
  return matrix.stride(0) == 1 || matrix.stride(1) == 1;
}

bool is_ours(const at::Tensor& left, const at::Tensor& right, Products products) {
  return products == Products::kQuickest && cpu::prefers_sgemm() && left.is_cpu() &&
         left.scalar_type() == at::kFloat && right.scalar_type() == at::kFloat && has_unit_stride(left) &&
         has_unit_stride(right) && left.size(0) >= kTile / 8 &&
         left.size(0) * left.size(1) * right.size(1) >= kWorthPacking;
}

bool is_float_or_bfloat16(const at::Tensor& matrix) {
  return matrix.scalar_type() == at::kFloat || matrix.scalar_type() == at::kBFloat16;
}

bool is_bfloat16_on_cpu(const at::Tensor& left, const at::Tensor& right) {
  const bool narrow = left.scalar_type() == at::kBFloat16 || right.scalar_type() == at::kBFloat16;
  return narrow && left.is_cpu() && is_float_or_bfloat16(left) && is_float_or_bfloat16(right);
}

// Not few rows times a matrix of the same type whose columns lie in one stretch, as for the next tokens of texts: LibTorch needs no
// longer for those than widening does.
bool is_widened(const at::Tensor& left, const at::Tensor& right) {
  return is_bfloat16_on_cpu(left, right) && !cpu::prefers_bgemm() && widens_bfloat16() &&
         (left.size(0) >= kWorthWideningRows || right.stride(0) != 1 ||
          left.scalar_type() != right.scalar_type()) &&
         left.size(0) * left.size(1) * right.size(1) >= kWorthWidening;
}

// By products that round to bfloat16 on their way, whatever `Products` says: no model has been trained with others for long.
bool is_rounded(const at::Tensor& left, const at::Tensor& right) {
  return is_bfloat16_on_cpu(left, right) && cpu::prefers_bgemm() && has_unit_stride(left) &&
         has_unit_stride(right) && left.size(0) >= kTile / 8 &&
         left.size(0) * left.size(1) * right.size(1) >= kWorthPacking;
}

// Each thread makes a strip of the longer side. Every element is summed as one thread alone would.
void run_strips(at::Tensor& out, const at::Tensor& left, const at::Tensor& right, const float* bias,
                bool add) {
  const int64_t rows = left.size(0), inner = left.size(1), columns = right.size(1), stride = out.stride(0);
  const cpu::MatrixView a{left.const_data_ptr<float>(), left.stride(0), left.stride(1)};
  const cpu::MatrixView b{right.const_data_ptr<float>(), right.stride(0), right.stride(1)};
  float* target = out.data_ptr<float>();
  const bool by_rows = rows >= columns;
  const int64_t length = by_rows ? rows : columns, strips = (length + kTile - 1) / kTile;
  at::parallel_for(0, strips, 1, [&](int64_t first, int64_t last) {
    const int64_t begin = first * kTile, count = std::min(last * kTile, length) - begin;
    if (by_rows) {
      const cpu::MatrixView part{a.data + begin * a.row, a.row, a.column};
      cpu::sgemm({count, columns, inner}, part, b, bias, add, target + begin * stride, stride);
    } else {
      const cpu::MatrixView part{b.data + begin * b.column, b.row, b.column};
      cpu::sgemm({rows, count, inner}, a, part, bias ? bias + begin : nullptr, add, target + begin, stride);
    }
  });
}

cpu::AnyMatrix any_view(const at::Tensor& matrix, int64_t first) {
  const auto* data = static_cast<const char*>(matrix.const_data_ptr()) + first * matrix.itemsize();
  return {data, matrix.scalar_type() == at::kFloat, matrix.stride(0), matrix.stride(1)};
}

// As run_strips.
void run_rounded_strips(at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
                        const at::Tensor& bias, bool add) {
  const at::Tensor wide = bias.defined() ? bias.to(at::kFloat).contiguous() : bias;
  const float* start = wide.defined() ? wide.const_data_ptr<float>() : nullptr;
  const int64_t rows = left.size(0), inner = left.size(1), columns = right.size(1), stride = out.stride(0);
  const bool by_rows = rows >= columns, wide_out = out.scalar_type() == at::kFloat;
  const int64_t length = by_rows ? rows : columns, strips = (length + kTile - 1) / kTile;
  char* target = static_cast<char*>(out.mutable_data_ptr());
  at::parallel_for(0, strips, 1, [&](int64_t first, int64_t last) {
    const int64_t begin = first * kTile, count = std::min(last * kTile, length) - begin;
    const int64_t corner = by_rows ? begin * stride : begin;
    const cpu::AnyOutput part{target + corner * out.itemsize(), wide_out, stride};
    if (by_rows) {
      cpu::bgemm({count, columns, inner}, any_view(left, begin * left.stride(0)), any_view(right, 0), start,
                 add, part);
    } else {
      cpu::bgemm({rows, count, inner}, any_view(left, 0), any_view(right, begin * right.stride(1)),
                 start ? start + begin : nullptr, add, part);
    }
  });
}

at::ScalarType narrower(const at::Tensor& left, const at::Tensor& right) {
  return left.scalar_type() == at::kFloat ? right.scalar_type() : left.scalar_type();
}

void run_narrow(at::Tensor& out, const at::Tensor& left, const at::Tensor& right, const float* bias,
                bool add) {
  QuantisedMatrices* quantised = left.size(0) == 1 ? quantised_in_use() : nullptr;
  if (quantised != nullptr && quantised->multiply(out, left, right, bias, add)) return;
  constexpr int64_t kColumns = 64;  // that a thread gets at least
  const cpu::ProductSize size{left.size(0), right.size(1), left.size(1)};
  const cpu::MatrixView a{left.const_data_ptr<float>(), left.stride(0), 1};
  const cpu::MatrixView b{right.const_data_ptr<float>(), right.stride(0), right.stride(1)};
  float* target = out.data_ptr<float>();
  const int64_t strips = (size.columns + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, kWorthAThread / (kColumns * size.inner));
  at::parallel_for(0, strips, grain, [&](int64_t first, int64_t last) {
    cpu::narrow_product(size, a, b, bias, add, target, out.stride(0), first * kColumns,
                        std::min(last * kColumns, size.columns));
  });
}

}  // namespace

NarrowProducts::NarrowProducts() : before_(t_narrow) {
  t_narrow = true;
}

NarrowProducts::~NarrowProducts() {
  t_narrow = before_;
}

bool takes_narrow_products() {
  return t_narrow;
}

bool is_narrow(const at::Tensor& left, const at::Tensor& right) {
  return t_narrow && left.is_cpu() && left.size(0) > 0 && left.size(0) <= cpu::kNarrowRows &&
         left.scalar_type() == at::kFloat && right.scalar_type() == at::kFloat && left.size(1) > 0 &&
         right.size(1) > 0 && left.stride(1) == 1 && has_unit_stride(right) && cpu::has_narrow_product();
}

bool has_bfloat16_products() {
  return cpu::prefers_bgemm() || widens_bfloat16();
}

bool rounds_on_the_way(const at::Tensor& x, const at::Tensor& matrix) {
  return x.is_cpu() && x.scalar_type() == at::kBFloat16 && matrix.scalar_type() == at::kFloat &&
         x.numel() > 0 && has_bfloat16_products();  // no rows are LibTorch's, of one type
}

void multiply_into(at::Tensor& out, const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias,
                   Products products) {
  if (is_narrow(left, right)) {
    const at::Tensor given = bias.defined() ? bias.contiguous() : bias;
    run_narrow(out, left, right, given.defined() ? given.const_data_ptr<float>() : nullptr, false);
  } else if (is_ours(left, right, products)) {
    const at::Tensor given = bias.defined() ? bias.contiguous() : bias;
    run_strips(out, left, right, given.defined() ? given.const_data_ptr<float>() : nullptr, false);
  } else if (is_rounded(left, right)) {
    run_rounded_strips(out, left, right, bias, false);
  } else if (is_widened(left, right)) {
    widened_product(out, left, right, bias, false);
  } else if (const at::ScalarType dtype = narrower(left, right);
             left.scalar_type() != right.scalar_type() || out.scalar_type() != dtype) {
    out.copy_(multiply(left, right, bias, products));
  } else if (bias.defined()) {
    at::addmm_out(out, bias, left, right);
  } else {
    at::mm_out(out, left, right);
  }
}

at::Tensor multiply(const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias,
                    Products products, std::optional<at::ScalarType> dtype) {
  const at::ScalarType narrow = narrower(left, right), given = dtype.value_or(narrow);
  if (is_narrow(left, right) || is_ours(left, right, products) || is_rounded(left, right) ||
      is_widened(left, right)) {
    at::Tensor out = at::empty({left.size(0), right.size(1)}, left.options().dtype(given));
    multiply_into(out, left, right, bias, products);
    return out;
  }
  if (left.scalar_type() == right.scalar_type() && given == narrow)
    return bias.defined() ? at::addmm(bias, left, right) : at::mm(left, right);
  const at::Tensor a = left.to(narrow), b = right.to(narrow);
  return (bias.defined() ? at::addmm(bias.to(narrow), a, b) : at::mm(a, b)).to(given);
}

void add_product(at::Tensor& out, const at::Tensor& left, const at::Tensor& right, Products products) {
  if (is_narrow(left, right)) {
    run_narrow(out, left, right, nullptr, true);
  } else if (is_ours(left, right, products)) {
    run_strips(out, left, right, nullptr, true);
  } else if (is_rounded(left, right)) {
    run_rounded_strips(out, left, right, {}, true);
  } else if (is_widened(left, right)) {
    widened_product(out, left, right, {}, true);
  } else if (left.scalar_type() == right.scalar_type() && out.scalar_type() == left.scalar_type()) {
    out.addmm_(left, right);
  } else {
    out.add_(multiply(left, right, {}, products));
  }
}

}  // namespace hftrain::nn
