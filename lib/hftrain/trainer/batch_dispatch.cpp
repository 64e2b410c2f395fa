#include "hftrain/trainer/batch_dispatch.h"

#include <ATen/ops/empty.h>

#include <cstring>

#include "hftrain/base/json.h"

namespace hftrain::trainer {
namespace {

// Of one column on its way: where it lies among the bytes of all ranks, or which earlier column of its batch it is.
struct SentColumn {
  std::string name;
  bool floating = false;  // float32, else int64
  std::vector<int64_t> sizes;
  int64_t offset = 0;
  std::optional<size_t> same_as;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SentColumn, name, floating, sizes, offset, same_as)

std::vector<SentColumn> columns_of(const models::Batch& batch, int64_t& bytes) {
  std::vector<SentColumn> columns;
  for (const models::BatchColumn& one : models::kBatchColumns) {
    const at::Tensor& tensor = batch.*one.member;
    if (!tensor.defined()) continue;
    SentColumn column{.name = std::string(one.name),
                      .floating = tensor.scalar_type() == at::kFloat,
                      .sizes = tensor.sizes().vec(),
                      .offset = bytes};
    for (size_t i = 0; i < columns.size() && !column.same_as; ++i) {
      if (column_of(batch, columns[i].name).is_same(tensor)) column.same_as = i;
    }
    if (!column.same_as) bytes += static_cast<int64_t>(tensor.nbytes());
    columns.push_back(std::move(column));
  }
  return columns;
}

at::Tensor bytes_of(int64_t count) {
  return at::empty({count}, at::kByte);
}

}  // namespace

void send_batches(comm::Communicator& communicator, const std::vector<LoadedBatch>& batches, bool last) {
  int64_t bytes = 0;
  std::vector<std::vector<SentColumn>> columns;
  std::vector<std::vector<int64_t>> samples;
  for (size_t rank = 1; rank < batches.size(); ++rank)
    columns.push_back(columns_of(batches[rank].tensors, bytes));
  for (const LoadedBatch& batch : batches) samples.push_back(batch.samples);
  communicator.all_gather_text(
      Json({{"bytes", bytes}, {"columns", columns}, {"samples", samples}, {"last", last}}).dump());
  at::Tensor all = bytes_of(bytes);
  auto* const memory = static_cast<std::byte*>(all.mutable_data_ptr());
  for (size_t rank = 1; rank < batches.size(); ++rank) {
    for (const SentColumn& column : columns[rank - 1]) {
      if (column.same_as) continue;
      const at::Tensor& tensor = column_of(batches[rank].tensors, column.name);
      std::memcpy(memory + column.offset, tensor.const_data_ptr(), tensor.nbytes());
    }
  }
  communicator.host().broadcast(all, 0);
}

void send_no_batch(comm::Communicator& communicator, bool last) {
  communicator.all_gather_text(Json({{"last", last}}).dump());
}

ReceivedBatch receive_batch(comm::Communicator& communicator, bool pin_memory) {
  const Json header = parse_json(communicator.all_gather_text("").front(), "the batches of rank 0");
  const bool last = header.at("last").get<bool>();
  if (!header.contains("samples")) return {.batch = std::nullopt, .last = last};
  const auto place = static_cast<size_t>(communicator.rank());
  const at::Tensor all = bytes_of(header.at("bytes").get<int64_t>());
  communicator.host().broadcast(all, 0);
  LoadedBatch batch{.samples = header.at("samples").at(place).get<std::vector<int64_t>>()};
  std::vector<at::Tensor> tensors;
  for (const auto& column : header.at("columns").at(place - 1).get<std::vector<SentColumn>>()) {
    if (column.same_as) {
      tensors.push_back(tensors.at(*column.same_as));
    } else {
      const auto options = at::TensorOptions().dtype(column.floating ? at::kFloat : at::kLong);
      tensors.push_back(at::empty(column.sizes, options.pinned_memory(pin_memory)));
      std::memcpy(tensors.back().mutable_data_ptr(),
                  static_cast<const std::byte*>(all.const_data_ptr()) + column.offset,
                  tensors.back().nbytes());
    }
    put_column(batch.tensors, column.name, tensors.back());
  }
  return {.batch = std::move(batch), .last = last};
}

}  // namespace hftrain::trainer
