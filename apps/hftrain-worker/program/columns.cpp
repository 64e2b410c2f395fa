#include "program/columns.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace hftrain {
namespace {

using architectures::Head;

[[noreturn]] void refuse(const std::string& name, const at::Tensor& column, const std::string& wanted) {
  throw std::runtime_error("the column '" + name + "' of a batch is " + c10::toString(column.scalar_type()) +
                           ' ' + sizes_text(column) + ", and " + wanted + " is right");
}

void check_type(const std::string& name, const at::Tensor& column) {
  const bool image = name == "pixel_values", scores = name == "labels" && column.scalar_type() == at::kFloat;
  if (scores || column.scalar_type() == (image ? at::kFloat : at::kLong)) return;
  refuse(name, column, image ? "float32" : name == "labels" ? "int64, or float32 scores," : "int64");
}

void check_sizes(const std::string& name, const at::Tensor& column, const at::Tensor& other,
                 const std::string& of) {
  if (!column.defined() || !other.defined() || column.sizes() == other.sizes()) return;
  refuse(name, column, sizes_text(other) + ", as " + of + " has it,");
}

// Whether there is one label per input token.
bool labels_tokens(Head head) {
  return head == Head::kCausalLm || head == Head::kMaskedLm || head == Head::kTokenClassification;
}

void check_labels(const models::Batch& batch, Head head) {
  const at::Tensor& labels = batch.labels;
  if (!labels.defined()) return;
  if (labels_tokens(head)) check_sizes("labels", labels, batch.input_ids, "input_ids");
  if (head == Head::kSeq2SeqLm && labels.dim() != 2) refuse("labels", labels, "one row for each text");
  if (head == Head::kSeq2SeqLm) check_sizes("labels", labels, batch.decoder_input_ids, "decoder_input_ids");
  const bool classes = head == Head::kSequenceClassification || head == Head::kImageClassification;
  if (classes && labels.scalar_type() == at::kLong && labels.numel() != labels.size(0))
    refuse("labels", labels, "one class for each row");
  if ((labels_tokens(head) || head == Head::kSeq2SeqLm) && labels.scalar_type() != at::kLong)
    refuse("labels", labels, "int64");
}

void check_rows(const models::Batch& batch) {
  const at::Tensor& main = models::main_input(batch);
  const int64_t dimensions = batch.pixel_values.defined() ? 4 : 2;
  if (!main.defined() || main.dim() != dimensions || main.numel() == 0)
    throw std::runtime_error(
        "a batch has no rows of input_ids [B, T] or pixel_values [B, channels, height, width]");
  for (const models::BatchColumn& column : models::kBatchColumns) {
    const at::Tensor& tensor = batch.*column.member;
    if (tensor.defined() && (tensor.dim() == 0 || tensor.size(0) != main.size(0)))
      refuse(std::string(column.name), tensor, std::to_string(main.size(0)) + " rows, as those beside it,");
  }
  for (const auto& [name, ends] :
       {std::pair("start_positions", batch.start_positions), std::pair("end_positions", batch.end_positions)})
    if (ends.defined() && ends.dim() != 1) refuse(name, ends, "one position for each row");
}

}  // namespace

std::string sizes_text(const at::Tensor& tensor) {
  std::string text;
  for (const int64_t size : tensor.sizes()) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return '[' + text + ']';
}

Batch columns_of(const models::Batch& batch) {
  Batch columns;
  for (const models::BatchColumn& column : models::kBatchColumns) {
    const at::Tensor& tensor = batch.*column.member;
    if (tensor.defined()) columns.emplace(column.name, tensor);
  }
  return columns;
}

models::Batch batch_of(const Batch& columns, Head head) {
  models::Batch batch;
  for (const auto& [name, tensor] : columns) {
    const std::string& wanted = name;
    const auto* const column =
        std::find_if(models::kBatchColumns.begin(), models::kBatchColumns.end(),
                     [&](const models::BatchColumn& one) { return one.name == wanted; });
    if (column == models::kBatchColumns.end())
      throw std::runtime_error("no model takes a column '" + name + "'");
    if (!tensor.defined()) throw std::runtime_error("the column '" + name + "' of a batch is undefined");
    check_type(name, tensor);
    batch.*column->member = tensor.contiguous();
  }
  check_rows(batch);
  check_sizes("attention_mask", batch.attention_mask, batch.input_ids, "input_ids");
  check_sizes("token_type_ids", batch.token_type_ids, batch.input_ids, "input_ids");
  check_sizes("position_ids", batch.position_ids, batch.input_ids, "input_ids");
  check_sizes("decoder_attention_mask", batch.decoder_attention_mask, batch.decoder_input_ids,
              "decoder_input_ids");
  check_labels(batch, head);
  return batch;
}

void require_labels(const models::Batch& batch, Head head) {
  const bool answers = head == Head::kQuestionAnswering;
  const bool there =
      answers ? batch.start_positions.defined() && batch.end_positions.defined() : batch.labels.defined();
  if (there) return;
  throw std::runtime_error(std::string("a batch to train on has no ") +
                           (answers ? "start_positions and end_positions" : "labels"));
}

void require_labels_of(const models::Batch& of_run, const models::Batch& batch) {
  for (const models::BatchColumn& column : models::kBatchColumns) {
    const bool labels = column.name == "labels" || column.name.ends_with("_positions");
    if (labels && (of_run.*column.member).defined() && !(batch.*column.member).defined())
      throw std::runtime_error("the column '" + std::string(column.name) +
                               "' is left out, and the loss is computed of it");
  }
}

}  // namespace hftrain
