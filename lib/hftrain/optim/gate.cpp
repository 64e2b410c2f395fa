#include "hftrain/optim/gate.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/where.h>

#include <utility>

namespace hftrain::optim {

Gate::Gate(const at::Tensor& skip) : skip_(skip), keep_(at::rsub(skip, 1)) {}

void Gate::clear(const std::vector<at::Tensor>& list) const {
  if (!skip_.defined() || list.empty()) return;
  std::vector<at::Tensor> bits;  // whose product with 0 is 0, whatever number they are
  bits.reserve(list.size());
  for (const at::Tensor& each : list) bits.push_back(each.view(at::kInt));
  at::_foreach_mul_(bits, keep_.to(at::kInt));
}

void Gate::scale(const std::vector<at::Tensor>& list, double by) const {
  if (skip_.defined()) {
    at::_foreach_mul_(list, keep_.mul(by).add_(skip_));
  } else {
    at::_foreach_mul_(list, by);
  }
}

void Gate::add_to_divisors(const std::vector<at::Tensor>& list, double number) const {
  if (skip_.defined()) {
    at::_foreach_add_(list, keep_.mul(number).add_(skip_.div(keep_)));  // 0/1, or 1/0
  } else {
    at::_foreach_add_(list, number);
  }
}

void Gate::add(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& what, double times) const {
  if (skip_.defined()) {
    at::_foreach_add_(to, at::_foreach_mul(what, keep_.mul(times)));
  } else {
    at::_foreach_add_(to, what, times);
  }
}

void Gate::mix(const std::vector<at::Tensor>& list, const std::vector<at::Tensor>& towards,
               double weight) const {
  if (skip_.defined()) {
    scale(list, 1 - weight);
    at::_foreach_add_(list, towards, weight);
  } else {
    at::_foreach_lerp_(list, towards, weight);
  }
}

std::vector<at::Tensor> Gate::counted(const std::vector<at::Tensor>& list) const {
  return skip_.defined() ? at::_foreach_mul(list, keep_) : list;
}

Snapshot::Snapshot(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)) {
  before_.reserve(tensors_.size());
  for (const at::Tensor& each : tensors_) before_.push_back(each.clone());
}

void Snapshot::restore(const at::Tensor& skip) const {
  const at::Tensor skipped = skip.ne(0);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    at::Tensor out = tensors_[i];
    at::where_out(out, skipped, before_[i], out);
  }
}

}  // namespace hftrain::optim
