#include "hftrain/trainer/loaded_batch.h"

#include <algorithm>
#include <memory>

#include "hftrain/base/error.h"

namespace hftrain::trainer {
namespace {

at::Tensor models::Batch::*member_named(const std::string& name) {
  const auto column = std::find_if(models::kBatchColumns.begin(), models::kBatchColumns.end(),
                                   [&](const models::BatchColumn& one) { return one.name == name; });
  if (column == models::kBatchColumns.end())
    throw Error(ExitCode::kInternal, "a batch has no column '" + name + "'");
  return column->member;
}

}  // namespace

const at::Tensor& column_of(const models::Batch& batch, const std::string& name) {
  return batch.*member_named(name);
}

void put_column(models::Batch& batch, const std::string& name, const at::Tensor& tensor) {
  batch.*member_named(name) = tensor;
}

models::Batch on_device(const models::Batch& batch, at::Device device) {
  models::Batch moved;
  for (size_t i = 0; i < models::kBatchColumns.size(); ++i) {
    const at::Tensor& tensor = batch.*models::kBatchColumns[i].member;
    if (!tensor.defined()) continue;
    size_t first = 0;  // of the columns that are this tensor
    while (!(batch.*models::kBatchColumns[first].member).is_same(tensor)) ++first;
    moved.*models::kBatchColumns[i].member =
        first < i ? moved.*models::kBatchColumns[first].member : tensor.to(device, /*non_blocking=*/true);
  }
  if (!device.is_cpu()) moved.host = std::make_shared<const models::Batch>(batch);
  return moved;
}

}  // namespace hftrain::trainer
