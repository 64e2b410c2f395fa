// Arithmetic of an update that a device may have to skip: the host has handed it out before anybody knows the norm.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace hftrain::optim {

// An open gate calculates with numbers of the host. One that is made of a tensor calculates with tensors beside it, which are such
// that everything stays as it is where the tensor is 1; nobody reads it. Lists are of float32. Autograd is off.
class Gate {
 public:
  Gate() = default;
  // `skip`: a float32 scalar, 0 or 1, on the device of what is changed.
  explicit Gate(const at::Tensor& skip);

  // Zeros where skipped, whatever stands there: a product with 0 would keep what is no number.
  void clear(const std::vector<at::Tensor>& list) const;
  // Times `by`; where skipped times 1.
  void scale(const std::vector<at::Tensor>& list, double by) const;
  // What is divided by, plus `number`; where skipped it becomes infinite, so that finite quotients become 0.
  void add_to_divisors(const std::vector<at::Tensor>& list, double number) const;
  // to + times·what; where skipped `to`.
  void add(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& what, double times) const;
  // list + weight·(towards - list), of which `towards` is 0 where skipped.
  void mix(const std::vector<at::Tensor>& list, const std::vector<at::Tensor>& towards, double weight) const;
  // What is added to something: where skipped 0.
  std::vector<at::Tensor> counted(const std::vector<at::Tensor>& list) const;

 private:
  at::Tensor skip_, keep_;  // undefined: open
};

// Tensors as they were, for updates whose arithmetic no gate does exactly.
class Snapshot {
 public:
  explicit Snapshot(std::vector<at::Tensor> tensors);
  // They are again what they were, where the float32 scalar `skip` is 1.
  void restore(const at::Tensor& skip) const;

 private:
  std::vector<at::Tensor> tensors_, before_;
};

}  // namespace hftrain::optim
