#include "hftrain/parallel/nvme_optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <memory>
#include <span>

#include "hftrain/base/error.h"
#include "hftrain/parallel/nvme_shard.h"

namespace hftrain::parallel {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);
constexpr size_t kTensorAlignment = 64;  // bytes; of vector registers

size_t rounded_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

Error not_for_nvme(const std::string& optimizer, const std::string& state) {
  return Error(ExitCode::kUsage, "the state of " + optimizer + " cannot be kept on NVMe")
      .where("offload_optimizer")
      .why("its \"" + state + "\" is not one number, at first zero, for each number of a parameter")
      .hint("another --optim, or no offload: the state of " + optimizer + " may be small enough for memory");
}

// A tensor of its own pages, which leave with it.
at::Tensor on_own_pages(at::IntArrayRef sizes, at::ScalarType dtype) {
  const auto numel = static_cast<size_t>(c10::multiply_integers(sizes));
  auto pages = std::make_shared<storage::PageBuffer>(numel * at::elementSize(dtype));
  void* data = pages->data();
  return at::from_blob(
      data, sizes, [pages](void*) mutable { pages.reset(); }, at::TensorOptions().dtype(dtype));
}

std::span<std::byte> writable_span_of(const at::Tensor& dense) {
  return {static_cast<std::byte*>(dense.mutable_data_ptr()), dense.nbytes()};
}

// Numbers [begin, begin + count) of a dense tensor, in place.
void view_numbers(at::Tensor& view, const at::Tensor& of, int64_t begin, int64_t count) {
  view.set_(of.storage(), of.storage_offset() + begin, {count}, {1});
}

}  // namespace

NvmeOptimizer::NvmeOptimizer(std::vector<optim::ParameterGroup> groups, const OptimizerMaker& make_inner,
                             const plan::NvmePlan& plan)
    : Optimizer(make_inner({})->name(), std::move(groups)), plan_(plan), all_(parameters()) {
  const at::NoGradGuard no_grad;
  for (size_t group = 0; group < this->groups().size(); ++group) {
    groups_of_.insert(groups_of_.end(), this->groups()[group].parameters.size(), group);
  }
  probe(make_inner);
  int64_t state_bytes = 0;
  for (size_t i = 0; i < all_.size(); ++i)
    state_bytes += all_[i].numel() * static_cast<int64_t>(bytes_per_number(i));
  const plan::NvmeStaging staging = plan::nvme_staging(plan_, state_bytes);
  pieces_.resize(all_.size());
  for (size_t i = 0; i < all_.size(); ++i) add_pieces(i, static_cast<size_t>(staging.buffer_bytes));
  make_inner_optimizers(make_inner);
  make_slots(staging);
}

// What state the inner optimizer keeps, seen on a parameter of four numbers.
void NvmeOptimizer::probe(const OptimizerMaker& make_inner) {
  for (const at::Tensor& parameter : all_) {
    if (!parameter.is_cpu() || !parameter.is_contiguous())
      throw Error(ExitCode::kInternal, "state on NVMe is for dense parameters in host memory");
    if (kinds_.contains(parameter.scalar_type())) continue;
    const at::Tensor sample = at::zeros({2, 2}, parameter.options().requires_grad(false));
    const auto inner = make_inner({{{sample}, 0.0}});
    std::vector<StateKind>& kinds = kinds_[parameter.scalar_type()];
    for (const std::string& each : inner->state_names()) {
      const at::Tensor state = inner->state(0, each);
      if (!state.defined()) throw not_for_nvme(inner->name(), each);
      const bool scalar = state.dim() == 0;
      if (!scalar && (state.sizes() != sample.sizes() || state.count_nonzero().item<int64_t>() != 0))
        throw not_for_nvme(inner->name(), each);
      kinds.push_back({each, state.scalar_type(), scalar});
    }
  }
}

const std::vector<NvmeOptimizer::StateKind>& NvmeOptimizer::kinds_of(size_t parameter) const {
  return kinds_.at(all_[parameter].scalar_type());
}

size_t NvmeOptimizer::bytes_per_number(size_t parameter) const {
  size_t bytes = 0;
  for (const StateKind& kind : kinds_of(parameter)) bytes += kind.scalar ? 0 : at::elementSize(kind.dtype);
  return bytes;
}

// Cuts the parameter where groups are full. One without numbers has a piece too: its scalars are there.
void NvmeOptimizer::add_pieces(size_t parameter, size_t capacity) {
  const std::vector<StateKind>& kinds = kinds_of(parameter);
  const int64_t numel = all_[parameter].numel();
  const size_t each = bytes_per_number(parameter), padding = kinds.size() * kTensorAlignment;
  int64_t begin = 0;
  do {
    const int64_t rest = numel - begin;
    SubGroup& group = open_group(static_cast<size_t>(std::min(rest, kCut)) * each + padding, capacity);
    const size_t room = capacity - std::min(capacity, group.bytes + padding);
    int64_t count = rest;
    if (static_cast<size_t>(rest) * each > room)
      count = std::min(rest, std::max<int64_t>(static_cast<int64_t>(room / each) / kCut, 1) * kCut);
    Piece piece{parameter, begin, count, at::empty({0}, all_[parameter].options().requires_grad(false)),
                {},        {}};
    for (const StateKind& kind : kinds) {
      piece.places.push_back(group.bytes);
      if (kind.scalar) continue;
      group.bytes = rounded_up(group.bytes + static_cast<size_t>(count) * at::elementSize(kind.dtype),
                               kTensorAlignment);
    }
    pieces_[parameter].emplace_back(sub_groups_.size() - 1, group.pieces.size());
    group.pieces.push_back(std::move(piece));
    begin += count;
  } while (begin < numel);
}

// The last group, or a new one when `bytes` more do not fit into it.
NvmeOptimizer::SubGroup& NvmeOptimizer::open_group(size_t bytes, size_t capacity) {
  if (sub_groups_.empty() || (sub_groups_.back().bytes > 0 && sub_groups_.back().bytes + bytes > capacity))
    sub_groups_.emplace_back();
  return sub_groups_.back();
}

// While pieces are empty, so is the state that comes with them.
void NvmeOptimizer::make_inner_optimizers(const OptimizerMaker& make_inner) {
  uint64_t offset = 0;
  for (SubGroup& sub_group : sub_groups_) {
    std::vector<optim::ParameterGroup> groups;
    for (const optim::ParameterGroup& group : this->groups()) groups.push_back({{}, group.weight_decay});
    for (const Piece& piece : sub_group.pieces)
      groups[groups_of_[piece.parameter]].parameters.push_back(piece.numbers);
    sub_group.optimizer = make_inner(std::move(groups));
    // Pieces come in the order of the parameters, and so of the groups.
    for (size_t i = 0; i < sub_group.pieces.size(); ++i) {
      for (const StateKind& kind : kinds_of(sub_group.pieces[i].parameter))
        sub_group.pieces[i].states.push_back(sub_group.optimizer->state(i, kind.name));
    }
    sub_group.offset = offset;
    offset += rounded_up(sub_group.bytes, plan::kNvmePage);
  }
  file_ = std::make_unique<storage::AsyncFile>(storage::AsyncFileOptions{.directory = plan_.optimizer_path,
                                                                         .bytes = offset,
                                                                         .block_bytes = plan_.block_bytes,
                                                                         .queue_depth = plan_.queue_depth});
}

void NvmeOptimizer::make_slots(const plan::NvmeStaging& staging) {
  size_t bytes = static_cast<size_t>(staging.buffer_bytes);
  for (const SubGroup& sub_group : sub_groups_)
    bytes = std::max(bytes, rounded_up(sub_group.bytes, plan::kNvmePage));
  for (int64_t i = 0; i < staging.buffers; ++i) {
    Slot slot{storage::PageBuffer(bytes), {}, kNone, 0};
    slot.storage = at::Storage(at::Storage::use_byte_size_t(), bytes,
                               at::DataPtr(slot.buffer.data(), at::Device(at::kCPU)));
    slots_.push_back(std::move(slot));
  }
}

void NvmeOptimizer::step(const optim::Pace& pace) {
  const at::NoGradGuard no_grad;
  for (size_t k = 0; k < sub_groups_.size(); ++k) {
    Slot& slot = slot_for(k);
    if (plan_.pipeline_read && slots_.size() > 1 && k + 1 < sub_groups_.size()) slot_for(k + 1);
    file_->wait(slot.under_way);
    update(sub_groups_[k], slot, pace);
    slot.under_way = file_->write(sub_groups_[k].offset, slot.buffer.span().first(sub_groups_[k].bytes));
    if (!plan_.pipeline_write) file_->wait(slot.under_way);
  }
  // The first group is there when the next step begins.
  if (plan_.pipeline_read && !sub_groups_.empty()) slot_for(0);
}

// The slot of the group, whose state is read into the one used longest ago unless it is in one already.
NvmeOptimizer::Slot& NvmeOptimizer::slot_for(size_t sub_group) {
  for (Slot& slot : slots_) {
    if (slot.sub_group == sub_group) return slot;
  }
  Slot& slot = slots_[turn_];
  turn_ = (turn_ + 1) % slots_.size();
  file_->wait(slot.under_way);
  slot.sub_group = sub_group;
  const SubGroup& wanted = sub_groups_[sub_group];
  for (const Piece& piece : wanted.pieces) {
    at::Tensor numbers = at::empty({0}, all_[piece.parameter].options().requires_grad(false));
    view_numbers(numbers, all_[piece.parameter], piece.begin, piece.count);
    ask_for_pages(numbers);
  }
  slot.under_way = file_->read(wanted.offset, slot.buffer.span().first(wanted.bytes));
  return slot;
}

void NvmeOptimizer::update(SubGroup& sub_group, const Slot& slot, const optim::Pace& pace) {
  for (Piece& piece : sub_group.pieces) point_at(piece, slot);
  sub_group.optimizer->step(pace);
  for (Piece& piece : sub_group.pieces) {
    piece.numbers.mutable_grad().reset();
    let_go_of_pages(piece.numbers);
  }
}

void NvmeOptimizer::point_at(Piece& piece, const Slot& slot) {
  const at::Tensor& parameter = all_[piece.parameter];
  view_numbers(piece.numbers, parameter, piece.begin, piece.count);
  if (const at::Tensor& gradient = parameter.grad(); gradient.defined()) {
    const at::Tensor dense = gradient.contiguous();
    at::Tensor part = at::empty({0}, dense.options().requires_grad(false));
    view_numbers(part, dense, piece.begin, piece.count);
    piece.numbers.mutable_grad() = part;
  }
  const std::vector<StateKind>& kinds = kinds_of(piece.parameter);
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    if (kinds[kind].scalar) continue;
    const size_t place = piece.places[kind] / at::elementSize(kinds[kind].dtype);
    piece.states[kind].set_(slot.storage, static_cast<int64_t>(place), {piece.count}, {1});
  }
}

std::vector<std::string> NvmeOptimizer::state_names() const {
  std::vector<std::string> names;
  if (kinds_.empty()) return names;
  for (const StateKind& kind : kinds_.begin()->second) names.push_back(kind.name);
  return names;
}

const NvmeOptimizer::Piece& NvmeOptimizer::piece(const std::pair<size_t, size_t>& place) const {
  return sub_groups_[place.first].pieces[place.second];
}

at::Tensor NvmeOptimizer::state(size_t index, const std::string& name) const {
  const std::vector<StateKind>& kinds = kinds_of(index);
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const StateKind& kind) { return kind.name == name; });
  if (found == kinds.end()) throw Error(ExitCode::kInternal, "the optimizer has no state \"" + name + "\"");
  const auto kind = static_cast<size_t>(found - kinds.begin());
  if (found->scalar) return piece(pieces_[index].front()).states[kind];
  const at::NoGradGuard no_grad;
  const at::Tensor whole = on_own_pages(all_[index].sizes(), found->dtype);
  move_state(index, kind, whole, /*write=*/false);
  return whole;
}

// Between memory and file, whatever was under way before.
void NvmeOptimizer::move_state(size_t parameter, size_t kind, const at::Tensor& whole, bool write) const {
  file_->wait_all();
  const size_t item = whole.itemsize();
  for (const auto& place : pieces_[parameter]) {
    const Piece& part = piece(place);
    const uint64_t offset = sub_groups_[place.first].offset + part.places[kind];
    const auto span = writable_span_of(whole).subspan(static_cast<size_t>(part.begin) * item,
                                                      static_cast<size_t>(part.count) * item);
    write ? file_->write(offset, span) : file_->read(offset, span);
  }
  file_->wait_all();
}

void NvmeOptimizer::visit_state(const optim::StateVisitor& visitor, optim::Access access) {
  if (access == optim::Access::kWrite) {
    file_->wait_all();
    for (Slot& slot : slots_) slot.sub_group = kNone;  // out of date from here on
  }
  for (size_t parameter = 0; parameter < all_.size(); ++parameter) {
    for (size_t kind = 0; kind < kinds_of(parameter).size(); ++kind) show(parameter, kind, visitor, access);
  }
}

void NvmeOptimizer::show(size_t parameter, size_t kind, const optim::StateVisitor& visitor,
                         optim::Access access) {
  const StateKind& which = kinds_of(parameter)[kind];
  if (which.scalar) {
    const at::Tensor first = state(parameter, which.name);
    visitor(parameter, which.name, first);
    if (access != optim::Access::kWrite) return;
    const at::NoGradGuard no_grad;
    for (const auto& place : pieces_[parameter]) piece(place).states[kind].copy_(first);
  } else if (access == optim::Access::kLayout) {
    visitor(parameter, which.name,
            at::empty(all_[parameter].sizes(), at::TensorOptions().dtype(which.dtype).device(at::kMeta)));
  } else {
    const at::Tensor whole = state(parameter, which.name);
    visitor(parameter, which.name, whole);
    if (access == optim::Access::kWrite) move_state(parameter, kind, whole, /*write=*/true);
  }
}

int64_t NvmeOptimizer::state_bytes() const {
  int64_t bytes = 0;
  for (const Slot& slot : slots_) bytes += static_cast<int64_t>(slot.buffer.size());
  for (const SubGroup& sub_group : sub_groups_) {
    for (const Piece& each : sub_group.pieces) {
      const std::vector<StateKind>& kinds = kinds_of(each.parameter);
      for (size_t kind = 0; kind < kinds.size(); ++kind)
        if (kinds[kind].scalar) bytes += static_cast<int64_t>(each.states[kind].nbytes());
    }
  }
  return bytes;
}

OptimizerMaker on_nvme(OptimizerMaker inner, const plan::NvmePlan& plan) {
  return [inner = std::move(inner), plan](std::vector<optim::ParameterGroup> groups) {
    return std::make_unique<NvmeOptimizer>(std::move(groups), inner, plan);
  };
}

}  // namespace hftrain::parallel
