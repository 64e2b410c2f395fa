#include "hftrain/checkpoint/state_parts.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <map>
#include <memory>
#include <set>

#include "hftrain/checkpoint/tensor_bytes.h"
#include "hftrain/storage/sharded_state.h"

namespace hftrain::checkpoint {
namespace {

using parallel::Access;
using parallel::StatePart;
using WriterPointer = std::unique_ptr<TensorWriter>;

std::vector<int64_t> at_least_one_dim(std::vector<int64_t> values, int64_t otherwise) {
  if (values.empty()) values.push_back(otherwise);
  return values;
}

// A name occurs once per file: the k-th part of a tensor goes to the k-th piece.
class PieceCounter {
 public:
  size_t next(const std::string& name) { return counts_[name]++; }

 private:
  std::map<std::string, size_t> counts_;
};

struct Layout {
  std::vector<std::vector<storage::TensorSlice>> pieces;
  std::set<storage::DType, std::greater<>> dtypes;  // in the order of a file
};

bool is_saved(const StatePart& part) {
  return part.written_here && part.tensor.numel() > 0;
}

Layout layout_of(const PartSource& visit) {
  Layout layout;
  PieceCounter counter;
  visit(
      [&](const StatePart& part) {
        if (!is_saved(part)) return;
        const std::string name = stored_name(part);
        const storage::Box box = stored_box(part);
        const storage::DType dtype = dtype_of(part.tensor.scalar_type());
        const size_t piece = counter.next(name);
        if (piece == layout.pieces.size()) layout.pieces.emplace_back();
        layout.pieces[piece].push_back({{name, dtype, box.sizes}, box.offsets});
        layout.dtypes.insert(dtype);
      },
      Access::kLayout);
  return layout;
}

std::vector<WriterPointer> open_files(const Layout& layout, const std::string& folder, int rank,
                                      SaveTarget& target) {
  const int count = static_cast<int>(layout.pieces.size());
  std::vector<WriterPointer> writers;
  for (int piece = 0; piece < count; ++piece) {
    const auto& slices = layout.pieces[static_cast<size_t>(piece)];
    std::vector<storage::TensorEntry> entries;
    for (const storage::TensorSlice& slice : slices) entries.push_back(slice.entry);
    writers.push_back(target.open(folder + '/' + storage::shard_file_name(rank, piece, count),
                                  std::move(entries), storage::sharding_metadata(slices),
                                  storage::TensorOrder::kAsDeclared));
  }
  return writers;
}

}  // namespace

std::string stored_name(const StatePart& part) {
  return part.state.empty() ? part.parameter : part.parameter + '.' + part.state;
}

storage::Box stored_box(const StatePart& part) {
  return {at_least_one_dim(part.offset, 0), at_least_one_dim(part.tensor.sizes().vec(), 1)};
}

std::vector<int64_t> stored_shape(const StatePart& part) {
  return at_least_one_dim(part.shape, 1);
}

void fill(const at::Tensor& target, storage::DType stored, const std::function<void(std::span<char>)>& read) {
  const at::NoGradGuard no_grad;
  const at::ScalarType type = scalar_type_of(stored);
  const bool direct = target.is_cpu() && target.is_contiguous() && target.scalar_type() == type;
  const at::Tensor host = direct ? target : host_memory_for(target, type);
  read({static_cast<char*>(host.mutable_data_ptr()), host.nbytes()});
  if (!direct) target.copy_(host);
}

uint64_t saved_bytes(const PartSource& visit) {
  uint64_t bytes = 0;
  visit(
      [&](const StatePart& part) {
        if (is_saved(part)) bytes += part.tensor.nbytes();
      },
      Access::kLayout);
  return bytes;
}

void save_parts(const PartSource& visit, const std::string& folder, int rank, SaveTarget& target) {
  const Layout layout = layout_of(visit);
  std::vector<WriterPointer> writers = open_files(layout, folder, rank, target);
  for (const storage::DType dtype : layout.dtypes) {
    PieceCounter counter;
    visit(
        [&](const StatePart& part) {
          if (!is_saved(part)) return;
          const std::string name = stored_name(part);
          const size_t piece = counter.next(name);
          if (dtype_of(part.tensor.scalar_type()) != dtype) return;
          writers[piece]->write(name, part.tensor);
        },
        Access::kRead);
  }
  for (const WriterPointer& writer : writers) writer->close();
}

}  // namespace hftrain::checkpoint
