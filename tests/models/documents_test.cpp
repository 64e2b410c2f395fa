// Documents that stand in one row are learnt as if each had a row of its own, by every decoder.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <numeric>

#include "hftrain/base/error.h"
#include "hftrain/models/model.h"
#include "hftrain/nn/activation_checkpoint.h"
#include "models/golden_model.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::models {
namespace {

using testing::golden_model;
using testing::golden_names;
using testing::GoldenFile;

// The third is long enough for kernels of whole sequences.
const std::vector<int64_t> kDocuments = {5, 1, 15, 3};

double apart(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>() / std::max(1.0, b.abs().max().item<double>());
}

// The documents from place `first` of kDocuments on in one row, with `pads` tokens of padding behind.
Batch row_of_documents(const at::Tensor& ids, size_t first, size_t count, int64_t pads) {
  std::vector<at::Tensor> positions;
  int64_t begin = std::accumulate(kDocuments.begin(), kDocuments.begin() + static_cast<std::ptrdiff_t>(first),
                                  int64_t{0}),
          length = 0;
  for (size_t i = first; i < first + count; ++i) {
    positions.push_back(at::arange(kDocuments[i]));
    length += kDocuments[i];
  }
  positions.push_back(at::arange(pads));
  Batch batch;
  batch.input_ids = at::cat({ids.narrow(0, begin, length), at::zeros({pads}, at::kLong)}).unsqueeze(0);
  batch.position_ids = at::cat(positions).unsqueeze(0);
  batch.labels = batch.input_ids.masked_fill(batch.position_ids == 0, -100);
  batch.labels.narrow(1, length, pads).fill_(-100);
  batch.attention_mask = at::cat({at::ones({length}, at::kLong), at::zeros({pads}, at::kLong)}).unsqueeze(0);
  return batch;
}

Batch stacked(const Batch& a, const Batch& b) {
  Batch both;
  for (const BatchColumn& column : kBatchColumns) {
    if ((a.*column.member).defined()) both.*column.member = at::cat({a.*column.member, b.*column.member});
  }
  return both;
}

struct Learnt {
  at::Tensor loss;
  std::vector<at::Tensor> gradients;
};

Learnt learn(Model& model, const std::vector<Batch>& batches, nn::UnitRunner& runner) {
  for (const at::Tensor& parameter : model.parameters()) parameter.mutable_grad() = at::Tensor();
  Learnt learnt{at::zeros({}), {}};
  for (const Batch& batch : batches) {
    const LossRequest request{.num_items = at::scalar_tensor(20.0)};
    const Output output = model.forward(batch, runner, loss_objective(model.architecture(), batch, request));
    output.loss.backward();
    learnt.loss = learnt.loss + output.loss.detach();
  }
  for (const at::Tensor& parameter : model.parameters()) learnt.gradients.push_back(parameter.grad());
  return learnt;
}

void check_same(const Learnt& mine, const Learnt& wanted) {
  CHECK(apart(mine.loss, wanted.loss) < 1e-6);
  REQUIRE(mine.gradients.size() == wanted.gradients.size());
  for (size_t i = 0; i < mine.gradients.size(); ++i) {
    if (wanted.gradients[i].defined()) CHECK(apart(mine.gradients[i], wanted.gradients[i]) < 1e-6);
  }
}

}  // namespace

TEST_CASE("Documents in one row are learnt as rows of their own by every decoder", "[models][documents]") {
  for (const std::string& name : golden_names("models")) {
    for (const nn::Kernels kernels : {nn::Kernels::kFused, nn::Kernels::kReference}) {
      INFO(name);
      const GoldenFile golden("models/" + name);
      ModelOptions options;
      options.kernels = kernels;
      const auto model =
          golden_model(golden, options, architectures::Head::kCausalLm, testing::Dropout::kNone);
      const at::Tensor ids = at::randint(model->architecture().vocab_size(), {24},
                                         at::detail::createCPUGenerator(5), at::TensorOptions(at::kLong));
      nn::UnitRunner plain;
      nn::CheckpointingRunner recomputing(plain, 1);
      std::vector<Batch> apart_rows;
      for (size_t i = 0; i < kDocuments.size(); ++i) apart_rows.push_back(row_of_documents(ids, i, 1, 0));
      for (Batch& row : apart_rows) row.position_ids = row.attention_mask = at::Tensor();
      const Learnt wanted = learn(*model, apart_rows, plain);
      check_same(learn(*model, {row_of_documents(ids, 0, 4, 0)}, plain), wanted);
      check_same(learn(*model, {row_of_documents(ids, 0, 4, 3)}, recomputing), wanted);
      check_same(
          learn(*model, {stacked(row_of_documents(ids, 0, 2, 13), row_of_documents(ids, 2, 2, 1))}, plain),
          wanted);
    }
  }
}

TEST_CASE("Documents in one row are of language models with padding behind", "[models][documents]") {
  const GoldenFile golden("models/gpt2");
  const auto model = golden_model(golden, {});
  Batch batch = row_of_documents(at::zeros({16}, at::kLong), 0, 2, 2);
  batch.attention_mask = batch.attention_mask.flip(1);
  nn::UnitRunner runner;
  CHECK_REFUSED(model->forward(batch, runner, logits_only()), "documents in a row are of language models");
}
}  // namespace hftrain::models
