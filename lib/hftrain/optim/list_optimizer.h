// Optimizers whose rule is the same for every number: written over lists of tensors, which a device changes by few kernels.
#pragma once

#include <vector>

#include "hftrain/optim/gate.h"
#include "hftrain/optim/stateful_optimizer.h"

namespace hftrain::optim {

// Of its states, if it has any, the first is "step", a counter on the host. On the CPU a list holds one parameter, whose numbers
// stay in the cache from one operation to the next; on a device as many as fill kListBytes, which bounds what lies beside them
// meanwhile, unless one parameter alone is larger; lists that are not all float32 have copies of their states there, too (Snapshot).
class ListOptimizer : public StatefulOptimizer {
 public:
  static constexpr int64_t kListBytes = int64_t{64} << 20;  // of parameters

 protected:
  // Parameters of one type on one device that have been updated equally often.
  struct Lists {
    std::vector<at::Tensor> parameters, gradients;
    std::vector<std::vector<at::Tensor>> states;  // by name, without the counter
    double step = 0;                              // this update's number, from 1; 0 without states
  };

  using StatefulOptimizer::StatefulOptimizer;
  // Its arithmetic leaves everything as it is where the gate is shut; see Gate.
  virtual void update_lists(const Lists& lists, const Gate& gate, double rate, double weight_decay) = 0;
  // The gradients plus weight_decay·parameters (coupled decay), zeros where the gate is shut.
  static std::vector<at::Tensor> with_decay(const Lists& lists, const Gate& gate, double weight_decay);

 private:
  using Items = std::vector<Item*>;

  void update(std::vector<Item>& items, double rate, double weight_decay) final;
  std::vector<Items> alike(std::vector<Item>& items) const;
  Lists lists_of(const Items& items);
  void update_alike(const Items& items, double rate, double weight_decay);
};

}  // namespace hftrain::optim
