// As standard.h, for what lies below the line. Only what most sources there include: g++ instantiates the
// inline functions of a header again in each source, so that one more header here costs every source (c10d's
// and autograd's: twice the time).
#include "standard.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
