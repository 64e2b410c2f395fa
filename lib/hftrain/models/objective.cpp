#include "hftrain/models/objective.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>

#include "hftrain/nn/causal_lm_loss.h"
#include "hftrain/nn/head_loss.h"
#include "hftrain/nn/linear.h"
#include "hftrain/nn/loss.h"
#include "hftrain/nn/product.h"

namespace hftrain::models {
namespace {

using architectures::Head;
using architectures::ProblemType;

nn::LossOptions loss_options(const LossRequest& request) {
  return {request.num_items, request.label_smoothing, request.by_probability};
}

Objective causal_objective(const at::Tensor& labels, const LossRequest& request) {
  return [labels, request](const HeadOutput& head) -> Output {
    const nn::LossOptions options = loss_options(request);
    if (request.want_best_ids) {
      nn::LossAndBest found =
          nn::causal_lm_loss_and_best(head.hidden, head.weight, labels, options, head.kernels, head.products);
      return {std::move(found.loss), std::move(found.best_ids)};
    }
    if (!request.want_logits)
      return {nn::causal_lm_loss(head.hidden, head.weight, labels, options, head.kernels, head.products), {}};
    const at::Tensor logits = head.logits();
    return {nn::causal_lm_loss_from_logits(logits, labels, options), logits.detach()};
  };
}

// Positions of the labels that count, on `device`. How many they are shapes what comes behind, so that the host has to know
// it: it looks at its own copy, where it has one.
at::Tensor counted_places(const at::Tensor& labels, at::Device device) {
  const at::Tensor places = (labels.reshape({-1}) != nn::kIgnoreIndex).nonzero().squeeze(1);
  if (places.device() == device) return places;
  return (device.is_cuda() ? places.pin_memory() : places).to(device, /*non_blocking=*/true);
}

// Where the vocabulary is applied to less than all places, and nothing else changes: places without a label count for
// nothing. A model that masks 15 % of its tokens so saves most of the work of its head, and one with padded targets that
// of their padding.
// `seen`: the labels as the host sees them.
Objective vocabulary_objective(const at::Tensor& labels, const at::Tensor& seen, const LossRequest& request) {
  return [labels, seen, request](const HeadOutput& head) -> Output {
    const nn::LossOptions options = loss_options(request);
    if (request.want_logits) {
      const at::Tensor logits = head.logits();
      return {nn::cross_entropy(logits, labels, options), logits.detach()};
    }
    if (head.kernels == nn::Kernels::kReference && !request.want_best_ids)
      return {
          nn::head_loss(head.hidden, head.weight, head.bias, labels, options, head.kernels, head.products),
          {}};
    const at::Tensor flat = labels.reshape({-1});
    const at::Tensor counted = counted_places(seen, flat.device());
    const at::Tensor hidden = head.hidden.reshape({-1, head.hidden.size(-1)}).index_select(0, counted);
    if (request.want_best_ids) {
      nn::LossAndBest found =
          nn::head_loss_and_best(hidden, head.weight, head.bias, flat.index_select(0, counted), options,
                                 head.kernels, head.products);
      const at::Tensor all = at::full_like(flat, nn::kIgnoreIndex).index_copy_(0, counted, found.best_ids);
      return {std::move(found.loss), all.view(labels.sizes())};
    }
    return {nn::head_loss(hidden, head.weight, head.bias, flat.index_select(0, counted), options,
                          head.kernels, head.products),
            {}};
  };
}

// What each place is to say: the label of the next one. The last has none.
at::Tensor next_labels(const at::Tensor& labels) {
  const int64_t length = labels.size(1);
  return at::cat({labels.narrow(1, 1, length - 1), at::full_like(labels.narrow(1, 0, 1), nn::kIgnoreIndex)},
                 1);
}

// What is asked for: the loss alone, or beside it the logits or what is best of them.
Output give(at::Tensor loss, const at::Tensor& logits, const LossRequest& request) {
  if (request.want_best_ids) return {std::move(loss), logits.detach().argmax(-1)};
  return {std::move(loss), request.want_logits ? logits.detach() : at::Tensor()};
}

// Every place has a class of its own.
Objective token_objective(const at::Tensor& labels, const LossRequest& request) {
  return [labels, request](const HeadOutput& head) -> Output {
    const at::Tensor logits = head.logits();
    return give(nn::cross_entropy(logits, labels, loss_options(request)), logits, request);
  };
}

ProblemType problem_of(const architectures::Labels& labels, const at::Tensor& given) {
  if (labels.problem) return *labels.problem;
  if (labels.count == 1) return ProblemType::kRegression;
  return at::isIntegralType(given.scalar_type(), /*includeBool=*/false) ? ProblemType::kSingleLabel
                                                                        : ProblemType::kMultiLabel;
}

Objective sequence_objective(ProblemType problem, const at::Tensor& labels, const LossRequest& request) {
  return [problem, labels, request](const HeadOutput& head) -> Output {
    const at::Tensor logits = head.logits();
    const nn::LossOptions options = loss_options(request);
    switch (problem) {
      case ProblemType::kSingleLabel:
        return give(nn::cross_entropy(logits, labels, options), logits, request);
      case ProblemType::kRegression:
        return give(nn::mean_squared_error(logits, labels.to(at::kFloat).view_as(logits), options), logits,
                    request);
      case ProblemType::kMultiLabel:
        return give(nn::sigmoid_cross_entropy(logits, labels.to(at::kFloat), options), logits, request);
    }
    return {};
  };
}

// Positions [B] in rows of `length` tokens; those outside do not count.
at::Tensor positions_within(const at::Tensor& positions, int64_t length) {
  const at::Tensor clamped = positions.clamp(0, length);
  return clamped.masked_fill(clamped == length, nn::kIgnoreIndex);
}

// The mean over the rows whose position lies within them; of none 0, and not 0 / 0, which would end in the parameters.
at::Tensor position_loss(const at::Tensor& logits, const at::Tensor& positions, const LossRequest& request) {
  const at::Tensor targets = positions_within(positions, logits.size(1));
  nn::LossOptions options = loss_options(request);
  options.num_items = (targets != nn::kIgnoreIndex).sum().clamp_min(1);
  return nn::cross_entropy(logits, targets, options);
}

// The mean of two cross-entropies over the places of a row, of the answer's first token and of its last.
Objective answer_objective(const Batch& batch, const LossRequest& request) {
  return [starts = batch.start_positions, ends = batch.end_positions,
          request](const HeadOutput& head) -> Output {
    const at::Tensor logits = head.logits();
    const at::Tensor sum = position_loss(logits.select(2, 0), starts, request) +
                           position_loss(logits.select(2, 1), ends, request);
    return give(sum / (2.0 * static_cast<double>(request.micro_batches)), logits, request);
  };
}

int64_t counted(const at::Tensor& labels) {
  return (labels != nn::kIgnoreIndex).sum().item<int64_t>();
}

// From place `first` of each row on.
int64_t causal_count(int64_t first, const Batch& batch) {
  const at::Tensor& labels = batch.labels;
  const int64_t length = labels.size(1) - first;
  // Blocks of text are their own labels, and all of them count.
  if (labels.is_same(batch.input_ids)) return labels.size(0) * length;
  return counted(labels.narrow(1, first, length));
}

}  // namespace

at::Tensor HeadOutput::logits() const {
  const bool rounded = weight.scalar_type() != hidden.scalar_type();
  if (rounded && !hidden.is_cpu()) return nn::linear(hidden, weight.to(hidden.scalar_type()), bias);
  // The next tokens of texts: a matrix as large as several layers, for a few rows.
  if (bias.defined() || rounded || nn::takes_narrow_products()) return nn::linear(hidden, weight, bias);
  return hidden.matmul(weight.t());
}

Objective last_logits() {
  return [](const HeadOutput& head) -> Output {
    HeadOutput last = head;
    last.hidden = head.hidden.select(1, -1);
    return {{}, last.logits()};
  };
}

Objective logits_at(const at::Tensor& places) {
  return [places](const HeadOutput& head) -> Output {
    const at::Tensor index = places.view({-1, 1, 1}).expand({-1, 1, head.hidden.size(2)});
    HeadOutput chosen = head;
    chosen.hidden = head.hidden.gather(1, index).squeeze(1);
    return {{}, chosen.logits()};
  };
}

Objective logits_only() {
  return [](const HeadOutput& head) -> Output { return {{}, head.logits()}; };
}

Objective best_ids_only() {
  return [](const HeadOutput& head) -> Output {
    return {{},
            nn::head_loss_and_best(head.hidden, head.weight, head.bias, {}, {}, head.kernels, head.products)
                .best_ids};
  };
}

// On a device a label that there is no output for is an assertion of a kernel, after which the process can do nothing more: the host
// looks at its own copy before. On the CPU the loss itself does.
void require_labels_on_device(const architectures::Architecture& architecture, const Batch& batch) {
  const at::Tensor& seen = on_host(batch).labels;
  if (batch.labels.is_cpu() || !at::isIntegralType(seen.scalar_type(), /*includeBool=*/false)) return;
  const bool classes = architecture.head() == Head::kSequenceClassification ||
                       architecture.head() == Head::kImageClassification;
  if (classes && problem_of(architecture.labels(), seen) != ProblemType::kSingleLabel) return;
  nn::require_targets_in_range(seen.reshape({-1}), architecture.outputs());
}

Objective loss_objective(const architectures::Architecture& architecture, const Batch& batch,
                         const LossRequest& request) {
  if (architecture.head() != Head::kQuestionAnswering) require_labels_on_device(architecture, batch);
  switch (architecture.head()) {
    case Head::kCausalLm:
      // Blocks of text are their own labels, and all of them count; of instructions many do not.
      if (batch.labels.is_same(batch.input_ids)) return causal_objective(batch.labels, request);
      return vocabulary_objective(next_labels(batch.labels), next_labels(on_host(batch).labels), request);
    case Head::kMaskedLm:
    case Head::kSeq2SeqLm:
      return vocabulary_objective(batch.labels, on_host(batch).labels, request);
    case Head::kTokenClassification:
      return token_objective(batch.labels, request);
    case Head::kSequenceClassification:
    case Head::kImageClassification:
      return sequence_objective(problem_of(architecture.labels(), batch.labels), batch.labels, request);
    case Head::kQuestionAnswering:
      return answer_objective(batch, request);
  }
  return logits_only();
}

bool weighs_by_labels(const architectures::Architecture& architecture) {
  return architecture.head() != Head::kQuestionAnswering;
}

int64_t label_count(const architectures::Architecture& architecture, const Batch& batch) {
  switch (architecture.head()) {
    case Head::kCausalLm:
      return causal_count(architecture.counts_first_label() ? 0 : 1, batch);
    case Head::kQuestionAnswering: {
      const int64_t length = batch.input_ids.size(1);
      return counted(positions_within(batch.start_positions, length)) +
             counted(positions_within(batch.end_positions, length));
    }
    default:
      break;
  }
  return batch.labels.is_floating_point() ? batch.labels.numel() : counted(batch.labels);
}

int64_t predicted_label_count(const Batch& batch) {
  return causal_count(1, batch);
}

int64_t all_label_count(const Batch& batch) {
  return causal_count(0, batch);
}

}  // namespace hftrain::models
