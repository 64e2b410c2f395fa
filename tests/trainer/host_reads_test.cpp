// What a model computes on a device it computes without reading anything back, which would wait for all that the device
// has still to do. The device of these tests is Meta: its tensors have shapes and no numbers, so that whatever reads one
// throws.
#include <ATen/ExpandUtils.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "hftrain/models/objective.h"
#include "hftrain/nn/loss.h"
#include "hftrain/nn/unit_runner.h"
#include "hftrain/trainer/loaded_batch.h"
#include "models/golden_model.h"
#include "support/called_operators.h"
#include "support/catch.h"

namespace hftrain::trainer {
namespace {

using architectures::Head;
using models::Batch;
using testing::GoldenFile;

at::Tensor shape_of_index_select(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  std::vector<int64_t> sizes = self.sizes().vec();
  sizes.at(static_cast<size_t>(dim)) = index.numel();
  return at::empty(sizes, self.options());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> shape_of_layer_norm(const at::Tensor& input,
                                                                   at::IntArrayRef normalised,
                                                                   const std::optional<at::Tensor>&,
                                                                   const std::optional<at::Tensor>&, double) {
  std::vector<int64_t> rows = input.sizes().vec();
  rows.resize(rows.size() - normalised.size());
  return {at::empty(input.sizes(), input.options()), at::empty(rows, input.options()),
          at::empty(rows, input.options())};
}

at::Tensor shape_as_given(const at::Tensor& self) {
  return at::empty(self.sizes(), self.options());
}

at::Tensor shape_of_logical_and(const at::Tensor& a, const at::Tensor& b) {
  return at::empty(at::infer_size(a.sizes(), b.sizes()), a.options().dtype(at::kBool));
}

at::Tensor shape_of_where(const at::Tensor& condition, const at::Tensor& a, const at::Tensor& b) {
  const std::vector<int64_t> both = at::infer_size(a.sizes(), b.sizes());
  return at::empty(at::infer_size(condition.sizes(), both), condition.options().dtype(at::result_type(a, b)));
}

at::Tensor& shape_of_where_out(const at::Tensor& condition, const at::Tensor& a, const at::Tensor& b,
                               at::Tensor& out) {
  return out.resize_(at::infer_size(condition.sizes(), at::infer_size(a.sizes(), b.sizes()))), out;
}

at::Tensor& shape_of_wide_product(const at::Tensor&, const at::Tensor&, at::ScalarType, at::Tensor& out) {
  return out;
}

std::tuple<at::Tensor, at::Tensor> shapes_of_log_sigmoid(const at::Tensor& self) {
  return {at::empty(self.sizes(), self.options()), at::empty(self.sizes(), self.options())};
}

// The loss of a batch whose numbers only the host has.
models::Output run_on_shapes(const GoldenFile& golden, Head head, const Batch& batch, bool train,
                             at::ScalarType compute = at::kFloat) {
  models::ModelOptions options;
  options.compute_dtype = compute;
  options.device = at::kMeta;
  const auto model = testing::golden_model(golden, options, head, testing::Dropout::kNone);
  nn::UnitRunner runner;
  const Batch moved = on_device(batch, at::kMeta);
  CHECK(models::main_input(moved).is_meta());
  const models::LossRequest request{.num_items = at::full({}, 7.0, at::kFloat).to(at::kMeta),
                                    .want_best_ids = !train};
  const at::AutoGradMode gradients(train);
  return model->forward(moved, runner, models::loss_objective(model->architecture(), moved, request));
}

void check_on_shapes(const GoldenFile& golden, Head head, const Batch& batch) {
  CHECK(run_on_shapes(golden, head, batch, /*train=*/true).loss.is_meta());
  CHECK(run_on_shapes(golden, head, batch, /*train=*/false).loss.is_meta());
}

// Of a pass, when what is kept for all of them has been made.
int calls_of(const char* name, const GoldenFile& golden, Head head, const Batch& batch) {
  run_on_shapes(golden, head, batch, /*train=*/true);
  const testing::CalledOperators called;
  run_on_shapes(golden, head, batch, /*train=*/true);
  return testing::CalledOperators::count(name);
}

// How often the places of a mask are laid out for the scores of several heads.
int masks_made(const GoldenFile& golden, Head head, const Batch& batch) {
  return calls_of("aten::unsqueeze", golden, head, batch);
}

}  // namespace

TEST_CASE("every family's update reads nothing back from its device") {
  for (const std::string& name : testing::golden_names("heads")) {
    INFO(name);
    const GoldenFile golden("heads/" + name);
    check_on_shapes(golden, architectures::head_named(golden.metadata("head")).value(),
                    testing::golden_batch(golden));
  }
}

TEST_CASE("padding, labels that do not count and documents are looked at before they go to the device") {
  for (const std::string& name : testing::golden_names("models")) {
    INFO(name);
    const GoldenFile golden("models/" + name);
    Batch blocks;
    blocks.input_ids = blocks.labels = golden.tensor("input_ids");
    check_on_shapes(golden, Head::kCausalLm, blocks);
    Batch padded = blocks;
    padded.attention_mask = at::ones(blocks.input_ids.sizes(), at::kLong);
    padded.attention_mask.select(1, -1).zero_();
    padded.labels = blocks.labels.masked_fill(padded.attention_mask == 0, nn::kIgnoreIndex);
    check_on_shapes(golden, Head::kCausalLm, padded);
    Batch documents = blocks;
    documents.position_ids = at::zeros(blocks.input_ids.sizes(), at::kLong);
    documents.position_ids.select(1, 1).fill_(1);
    check_on_shapes(golden, Head::kCausalLm, documents);
  }
}

TEST_CASE("a mask that the host sees to hide nothing is no mask of a device's attention") {
  for (const std::string& name : testing::golden_names("heads")) {
    INFO(name);
    const GoldenFile golden("heads/" + name);
    const Head head = testing::golden_head(golden);
    Batch batch = testing::golden_batch(golden);
    if (!batch.input_ids.defined()) continue;  // images have none
    batch.attention_mask = batch.decoder_attention_mask = at::Tensor();
    const int without = masks_made(golden, head, batch);
    batch.attention_mask = at::ones(batch.input_ids.sizes(), at::kLong);
    const bool decodes = head == Head::kSeq2SeqLm;
    if (decodes) batch.decoder_attention_mask = at::ones(batch.labels.sizes(), at::kLong);
    CHECK(masks_made(golden, head, batch) == without);
    batch.attention_mask.select(1, 0).zero_();
    CHECK(masks_made(golden, head, batch) > without);
    if (!decodes) continue;
    batch.attention_mask = at::Tensor();
    batch.decoder_attention_mask.select(1, 0).zero_();
    CHECK(masks_made(golden, head, batch) > without);
  }
}

TEST_CASE("the blocks of a stack share one bias on a device, with what the mask hides in it") {
  const GoldenFile tokens("heads/t5_tokens"), texts("heads/t5_texts");
  Batch batch = testing::golden_batch(tokens);
  batch.attention_mask = at::ones(batch.input_ids.sizes(), at::kLong);
  const int of_all = calls_of("aten::where", tokens, Head::kTokenClassification, batch);
  batch.attention_mask.select(1, -1).zero_();
  // One, which calls itself with the number as a tensor.
  CHECK(calls_of("aten::where", tokens, Head::kTokenClassification, batch) == of_all + 2);
  Batch written = testing::golden_batch(texts);
  written.attention_mask = written.decoder_attention_mask = at::Tensor();
  const int ordered = calls_of("aten::where", texts, Head::kSeq2SeqLm, written);
  written.decoder_attention_mask = at::ones(written.labels.sizes(), at::kLong);
  written.decoder_attention_mask.select(1, -1).zero_();
  CHECK(calls_of("aten::where", texts, Head::kSeq2SeqLm, written) == ordered);
}

TEST_CASE("the parameters of a block are cast together for a device") {
  for (const std::string& name : testing::golden_names("heads")) {
    INFO(name);
    const GoldenFile golden("heads/" + name);
    const Head head = testing::golden_head(golden);
    const auto model = testing::golden_model(golden, {}, head, testing::Dropout::kNone);
    const auto blocks =
        std::ranges::count_if(model->units(), [](const nn::Unit& unit) { return unit.repeated; });
    const Batch batch = testing::golden_batch(golden);
    const testing::CalledOperators called;
    run_on_shapes(golden, head, batch, /*train=*/true, at::kBFloat16);
    CHECK(testing::CalledOperators::count("aten::_foreach_copy_") == blocks);
  }
}

TEST_CASE("a tensor without numbers cannot be read") {
  const at::Tensor shape = at::zeros({3}, at::TensorOptions().device(at::kMeta));
  CHECK_THROWS(shape.sum().item<float>());
  CHECK_THROWS(shape.to(at::kCPU));
  CHECK_THROWS(shape.nonzero());
}

}  // namespace hftrain::trainer

// LibTorch has the shapes of most operators for C++, and those of a few for Python alone.
TORCH_LIBRARY_IMPL(aten, Meta, m) {
  m.impl("index_select", hftrain::trainer::shape_of_index_select);
  m.impl("native_layer_norm", hftrain::trainer::shape_of_layer_norm);
  m.impl("abs", hftrain::trainer::shape_as_given);
  m.impl("relu", hftrain::trainer::shape_as_given);
  m.impl("log_sigmoid_forward", hftrain::trainer::shapes_of_log_sigmoid);
  m.impl("logical_and", hftrain::trainer::shape_of_logical_and);
  m.impl("where.self", hftrain::trainer::shape_of_where);
  m.impl("where.self_out", hftrain::trainer::shape_of_where_out);
  m.impl("mm.dtype_out", hftrain::trainer::shape_of_wide_product);
}
