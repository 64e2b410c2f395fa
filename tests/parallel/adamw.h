#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "hftrain/optim/optimizer.h"

namespace hftrain::testing {

inline std::unique_ptr<optim::Optimizer> adamw(std::vector<optim::ParameterGroup> groups) {
  return optim::make_optimizer("adamw_torch_fused", std::move(groups), {});
}

}  // namespace hftrain::testing
