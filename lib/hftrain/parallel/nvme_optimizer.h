// An optimizer whose state lies in a file instead of memory.
//
// The parameters are cut into pieces, and pieces into groups whose state fills one staging buffer. step()
// passes over the groups: while one is updated, the state of the next is being read and that of the last
// written, so that memory holds a few buffers (plan::nvme_staging) whatever the size of the model. Each group
// has an inner optimizer of its own, made when there is no state yet, whose state tensors are pointed at a
// buffer while its turn lasts. Pieces end at multiples of kCut numbers, so that vector loops run over them as
// they run over whole parameters: the results are those of the inner optimizer, bit for bit.
//
// Only for optimizers that treat every number for itself: state of the parameter's shape, zero at first, and
// scalars (step counters), which stay in memory. Others are Error(kUsage). Failing disks are Error(kDisk).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/optim/optimizer.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/nvme_staging.h"
#include "hftrain/storage/async_file.h"

namespace hftrain::parallel {

class NvmeOptimizer final : public optim::Optimizer {
 public:
  static constexpr int64_t kCut = 1024;  // numbers

  // Parameters are dense host tensors. The file is made in plan.optimizer_path.
  NvmeOptimizer(std::vector<optim::ParameterGroup> groups, const OptimizerMaker& make_inner,
                const plan::NvmePlan& plan);

  void step(const optim::Pace& pace) override;
  std::vector<std::string> state_names() const override;
  // A copy read from the file, except scalars.
  at::Tensor state(size_t index, const std::string& name) const override;
  // Shows tensors of their own, one parameter's state at a time.
  void visit_state(const optim::StateVisitor& visitor, optim::Access access) override;
  // Of staging buffers and scalars.
  int64_t state_bytes() const override;

  const storage::AsyncFile& file() const noexcept { return *file_; }
  size_t sub_groups() const noexcept { return sub_groups_.size(); }

 private:
  // One of the inner optimizer's state tensors.
  struct StateKind {
    std::string name;
    at::ScalarType dtype;
    bool scalar;  // stays in memory
  };
  // Numbers [begin, begin + count) of a parameter, all of whose state is in one group.
  struct Piece {
    size_t parameter = 0;
    int64_t begin = 0, count = 0;
    at::Tensor numbers;              // what the inner optimizer takes for its parameter
    std::vector<at::Tensor> states;  // its state tensors, by kind
    std::vector<size_t> places;      // of their bytes in the group, by kind; scalars have none
  };
  struct SubGroup {
    uint64_t offset = 0;  // in the file
    size_t bytes = 0;
    std::vector<Piece> pieces;
    std::unique_ptr<optim::Optimizer> optimizer;
  };
  // A staging buffer and the group whose state is in it or on its way.
  struct Slot {
    storage::PageBuffer buffer;
    at::Storage storage;  // the buffer's memory, as tensors know it
    size_t sub_group;
    storage::AsyncFile::Token under_way = 0;
  };

  void probe(const OptimizerMaker& make_inner);
  void add_pieces(size_t parameter, size_t capacity);
  SubGroup& open_group(size_t bytes, size_t capacity);
  void make_inner_optimizers(const OptimizerMaker& make_inner);
  void make_slots(const plan::NvmeStaging& staging);
  const std::vector<StateKind>& kinds_of(size_t parameter) const;
  size_t bytes_per_number(size_t parameter) const;

  Slot& slot_for(size_t sub_group);
  void update(SubGroup& sub_group, const Slot& slot, const optim::Pace& pace);
  void point_at(Piece& piece, const Slot& slot);
  void show(size_t parameter, size_t kind, const optim::StateVisitor& visitor, optim::Access access);
  void move_state(size_t parameter, size_t kind, const at::Tensor& whole, bool write) const;
  const Piece& piece(const std::pair<size_t, size_t>& place) const;

  plan::NvmePlan plan_;
  std::vector<at::Tensor> all_;                             // parameters through all groups
  std::vector<size_t> groups_of_;                           // their parameter groups
  std::map<at::ScalarType, std::vector<StateKind>> kinds_;  // by the parameter's type
  std::vector<SubGroup> sub_groups_;
  std::vector<std::vector<std::pair<size_t, size_t>>> pieces_;  // by parameter: sub-group, piece in it
  std::vector<Slot> slots_;
  size_t turn_ = 0;                           // the slot that was used longest ago
  std::unique_ptr<storage::AsyncFile> file_;  // last: nothing is under way when the buffers go
};

// `inner` with its state on NVMe.
OptimizerMaker on_nvme(OptimizerMaker inner, const plan::NvmePlan& plan);

}  // namespace hftrain::parallel
