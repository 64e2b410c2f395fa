#include "hftrain/trainer/output_collector.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>

#include <algorithm>
#include <utility>

namespace hftrain::trainer {
namespace {

constexpr int64_t kJoinedPadding = -100;  // as the Trainer pads what it joins

// One below the other, padded to the widest.
at::Tensor joined_rows(const std::vector<at::Tensor>& parts) {
  int64_t widest = 0;
  for (const at::Tensor& part : parts) widest = std::max(widest, part.dim() > 1 ? part.size(1) : 0);
  std::vector<at::Tensor> padded;
  for (const at::Tensor& part : parts) {
    if (part.dim() < 2 || part.size(1) == widest) {
      padded.push_back(part);
      continue;
    }
    // From the last dimension to the second: what is added before it and behind it.
    std::vector<int64_t> margins(static_cast<size_t>(2 * (part.dim() - 1)), 0);
    margins.back() = widest - part.size(1);
    padded.push_back(at::constant_pad_nd(part, margins, kJoinedPadding));
  }
  return at::cat(padded);
}

tasks::RowValues values_of(std::string name, const at::Tensor& rows) {
  tasks::RowValues values{.name = std::move(name), .sizes = rows.sizes().slice(1).vec()};
  const auto count = static_cast<size_t>(rows.numel());
  if (rows.scalar_type() == at::kLong) {
    values.ids = {rows.const_data_ptr<int64_t>(), count};
  } else {
    values.scores = {rows.const_data_ptr<float>(), count};
  }
  return values;
}

}  // namespace

void OutputCollector::add(const LoadedBatch& batch, const at::Tensor& output, int64_t rows,
                          const at::Tensor& loss) {
  if (rows > 0) {
    Rows taken;
    taken.samples.assign(batch.samples.begin(), batch.samples.begin() + rows);
    taken.output = output.narrow(0, 0, rows);
    const auto is_label = [&](std::string_view name) {
      const auto& labels = plan_.label_columns;
      return std::find(labels.begin(), labels.end(), name) != labels.end();
    };
    for (const std::string& name : plan_.label_columns) {
      const at::Tensor& column = column_of(batch.tensors, name);
      if (column.defined()) taken.labels.push_back(column.narrow(0, 0, rows));
    }
    if (taken.labels.size() != plan_.label_columns.size()) taken.labels.clear();  // the split has none
    input_names_.clear();
    for (const models::BatchColumn& column : models::kBatchColumns) {
      const at::Tensor& tensor = batch.tensors.*column.member;
      if (!plan_.gives_inputs || !tensor.defined() || is_label(column.name)) continue;
      input_names_.emplace_back(column.name);
      taken.inputs.push_back(tensor.narrow(0, 0, rows));
    }
    if (plan_.gives_losses)
      taken.losses.assign(static_cast<size_t>(rows), loss.defined() ? loss.item<float>() : 0);
    waiting_.push_back(std::move(taken));
  }
  if (static_cast<int64_t>(waiting_.size()) >= std::max<int64_t>(1, plan_.accumulation_steps)) finish();
}

OutputCollector::Rows OutputCollector::joined() const {
  const auto join = [&](auto part) {
    std::vector<at::Tensor> parts;
    for (const Rows& rows : waiting_) parts.push_back(part(rows));
    return joined_rows(parts);
  };
  Rows all;
  for (const Rows& rows : waiting_) {
    all.samples.insert(all.samples.end(), rows.samples.begin(), rows.samples.end());
    all.losses.insert(all.losses.end(), rows.losses.begin(), rows.losses.end());
  }
  all.output = join([](const Rows& rows) { return rows.output; });
  for (size_t i = 0; i < waiting_.front().labels.size(); ++i)
    all.labels.push_back(join([i](const Rows& rows) { return rows.labels[i]; }));
  for (size_t i = 0; i < waiting_.front().inputs.size(); ++i)
    all.inputs.push_back(join([i](const Rows& rows) { return rows.inputs[i]; }));
  return all;
}

// Joined rows are padded behind them. Where padding stands before tokens, places would move away from what they are
// of, and the first place of a row would no longer be its own.
bool OutputCollector::may_join() const {
  if (!plan_.joins_batches || waiting_.size() < 2) return false;
  if (!pads_on_left_ || waiting_.front().output.dim() < 2) return true;
  return std::all_of(waiting_.begin(), waiting_.end(), [&](const Rows& rows) {
    return rows.output.size(1) == waiting_.front().output.size(1);
  });
}

void OutputCollector::finish() {
  if (may_join()) {
    hand_over(joined());
  } else {
    for (const Rows& rows : waiting_) hand_over(rows);
  }
  waiting_.clear();
}

void OutputCollector::hand_over(const Rows& rows) {
  const bool ids = rows.output.scalar_type() == at::kLong;
  const at::Tensor output = (ids ? rows.output : rows.output.to(at::kFloat)).cpu().contiguous();
  std::vector<at::Tensor> held;  // what the spans below look at
  tasks::OutputBatch batch{.samples = rows.samples, .output = values_of("output", output)};
  const auto give = [&](const std::string& name, const at::Tensor& tensor,
                        std::vector<tasks::RowValues>& to) {
    held.push_back(tensor.contiguous());
    to.push_back(values_of(name, held.back()));
  };
  for (size_t i = 0; i < rows.labels.size(); ++i) give(plan_.label_columns[i], rows.labels[i], batch.labels);
  for (size_t i = 0; i < rows.inputs.size(); ++i) give(input_names_[i], rows.inputs[i], batch.inputs);
  batch.losses = rows.losses;
  scorer_.add(batch);
}

}  // namespace hftrain::trainer
