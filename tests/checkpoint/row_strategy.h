// A strategy that only holds state, for tests of checkpoints: each rank has some rows of every parameter and
// of its optimizer state. "Gathering" is a look at whole tensors that the test keeps.
#pragma once

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <map>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/parallel/strategy.h"

namespace hftrain::testing {

struct WholeTensor {
  std::string parameter, state;  // state empty: the parameter itself
  at::Tensor tensor;
};

class RowStrategy final : public parallel::Strategy {
 public:
  // Copies this rank's rows of every tensor. Scalars are everywhere and written by rank 0.
  RowStrategy(int rank, int world_size, std::vector<WholeTensor> wholes)
      : rank_(rank), world_size_(world_size), wholes_(std::move(wholes)) {
    for (const WholeTensor& whole : wholes_) rows_.push_back(rows_of(whole.tensor).clone());
  }
  // Same layout, other numbers: what a loader is to replace.
  void forget() {
    for (at::Tensor& rows : rows_) rows.fill_(-1);
  }
  bool equals_wholes() const {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!rows_[i].equal(rows_of(wholes_[i].tensor))) return false;
    }
    return true;
  }

  void visit_parameters(const parallel::StateVisitor& visitor, parallel::Access /*access*/) override {
    visit(visitor, true);
  }
  void visit_optimizer_state(const parallel::StateVisitor& visitor, parallel::Access /*access*/) override {
    visit(visitor, false);
  }
  void visit_whole_parameters(const std::vector<size_t>& order,
                              const parallel::WholeVisitor& visitor) override {
    std::vector<at::Tensor> parameters;
    for (const WholeTensor& whole : wholes_) {
      if (whole.state.empty()) parameters.push_back(whole.tensor);
    }
    for (const size_t index : order) visitor(index, rank_ == 0 ? parameters.at(index) : at::Tensor());
  }

  void prepare() override {}
  nn::UnitRunner& unit_runner() override { return runner_; }
  void begin_micro_batch(bool) override {}
  void backward(const at::Tensor&) override { never(); }
  at::Tensor clip_gradients(double, const at::Tensor&) override { never(); }
  bool skips_by_tensor() const override { never(); }
  void was_skipped() override { never(); }
  void step(const optim::Pace&) override { never(); }
  void zero_gradients() override { never(); }
  void parameters_changed() override {}
  parallel::StateBytes state_bytes() const override { return {}; }

 private:
  [[noreturn]] static void never() { throw Error(ExitCode::kInternal, "this strategy does not train"); }
  int64_t first_row(const at::Tensor& whole) const {
    const int64_t each = (whole.size(0) + world_size_ - 1) / world_size_;
    return std::min(each * rank_, whole.size(0));
  }
  at::Tensor rows_of(const at::Tensor& whole) const {
    if (whole.dim() == 0) return whole;
    const int64_t each = (whole.size(0) + world_size_ - 1) / world_size_, first = first_row(whole);
    return whole.narrow(0, first, std::min(each, whole.size(0) - first));
  }
  void visit(const parallel::StateVisitor& visitor, bool parameters) {
    for (size_t i = 0; i < wholes_.size(); ++i) {
      const WholeTensor& whole = wholes_[i];
      if (whole.state.empty() != parameters) continue;
      const auto dims = static_cast<size_t>(whole.tensor.dim());
      std::vector<int64_t> offset(dims, 0);
      if (dims > 0) offset[0] = first_row(whole.tensor);
      visitor({whole.parameter, whole.state, whole.tensor.sizes().vec(), offset, rows_[i],
               dims > 0 || rank_ == 0});
    }
  }

  int rank_, world_size_;
  std::vector<WholeTensor> wholes_;
  std::vector<at::Tensor> rows_;
  nn::UnitRunner runner_;
};

}  // namespace hftrain::testing
