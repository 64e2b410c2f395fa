// How parameters, gradients and optimizer state are laid out over the ranks, and what a training step does
// with them. The trainer calls a Strategy and never asks which one it has:
//
//   strategy->prepare();
//   for each micro-batch: strategy->begin_micro_batch(last);
//                         loss = model.forward(batch, strategy->unit_runner());
//                         strategy->backward(loss);
//   norm = strategy->clip_gradients(max_norm); strategy->step(pace); strategy->zero_gradients();
//
// Every rank makes the same calls in the same order. Gradients are averaged over ranks; scaling the loss so
// that the average is the right thing is the trainer's business. A lost peer is Error kWorkerLost from any of
// the calls.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/nn/unit_runner.h"
#include "hftrain/optim/clipping.h"
#include "hftrain/optim/optimizer.h"

namespace hftrain::parallel {

// A leaf of the model. One that does not require grad is kept equal on all ranks and otherwise left alone.
struct NamedParameter {
  std::string name;   // the full transformers name
  at::Tensor tensor;  // whole; the model keeps using this very tensor
  size_t group = 0;   // position in ParameterList::weight_decays
};

struct ParameterList {
  std::vector<NamedParameter> parameters;  // in the model's order, tied ones once
  std::vector<double> weight_decays;       // of the optimizer's groups
};

// Makes the optimizer for the tensors that this rank updates, which may be parts of the parameters.
using OptimizerMaker = std::function<std::unique_ptr<optim::Optimizer>(std::vector<optim::ParameterGroup>)>;

// A box of one tensor of the training state, as this rank holds it.
struct StatePart {
  std::string parameter;  // full name of the parameter it belongs to
  std::string state;  // empty: the parameter itself; otherwise the optimizer's name for it, e.g. "exp_avg"
  std::vector<int64_t> shape;   // of the whole tensor
  std::vector<int64_t> offset;  // of this box in it
  at::Tensor tensor;            // the box; savers read it, loaders copy_ into it without autograd
  bool written_here = false;    // of equal copies on several ranks, the one that a checkpoint takes
};
using StateVisitor = std::function<void(const StatePart&)>;

// Whether a visitor looks at a part's layout, reads it or changes it: a part that lives elsewhere is read for
// the call only, and written back after it.
using optim::Access;

// Parameter `index` (in model order) as a whole, on rank 0; undefined elsewhere.
using WholeVisitor = std::function<void(size_t index, const at::Tensor& whole)>;

// Bytes of tensors that this rank really held at the fullest moment of an update: what stays between the uses
// of a unit, and apart from it the parameters that were whole only while their units were used. Of gradients that are
// on a device and then on the host, those of both fullest moments, for which there has to be room.
struct StateBytes {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t gathered_peak = 0;
};

// One thread; backward may use autograd's.
class Strategy {
 public:
  virtual ~Strategy() = default;

  // Collective. Call when the parameters have their first values; rank 0's become everybody's. Makes the
  // optimizer.
  virtual void prepare() = 0;
  // To run the model's units with. Lives as long as the strategy.
  virtual nn::UnitRunner& unit_runner() = 0;

  // Before the forward pass of a micro-batch. `synchronise` on the last one of an update, or on all: only then are
  // whole gradients reduced over ranks; those that are kept in parts are in every pass.
  virtual void begin_micro_batch(bool synchronise) = 0;
  // Adds to the gradients.
  virtual void backward(const at::Tensor& loss) = 0;

  // The L2 norm of all gradients before clipping, a float32 scalar on the device and the same on every rank; nothing waits for it.
  // The next step takes them no longer than max_norm; 0 measures without clipping. `loss_scale`: what the loss was multiplied by, a
  // scalar on the device, which the norm and the step divide by; undefined: nothing.
  virtual at::Tensor clip_gradients(double max_norm, const at::Tensor& loss_scale) = 0;
  virtual void step(const optim::Pace& pace) = 0;
  // Of the optimizer, after prepare.
  virtual bool skips_by_tensor() const = 0;
  // The last step() changed nothing, as its pace said by a tensor.
  virtual void was_skipped() = 0;
  virtual void zero_gradients() = 0;

  // This rank's parts of the parameters, in model order; from construction on, so that a loader fills them
  // before prepare.
  virtual void visit_parameters(const StateVisitor& visitor, Access access) = 0;
  // Collective, after parts were written to since prepare: whole copies are made from them again.
  virtual void parameters_changed() = 0;
  // Collective. The parameters of `order`, each gathered and freed again before the next. The visitor must
  // not throw: the other ranks go on gathering.
  virtual void visit_whole_parameters(const std::vector<size_t>& order, const WholeVisitor& visitor) = 0;
  // By parameter; valid after prepare.
  virtual void visit_optimizer_state(const StateVisitor& visitor, Access access) = 0;
  virtual StateBytes state_bytes() const = 0;
};

}  // namespace hftrain::parallel
