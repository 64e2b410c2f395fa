// Which values to try next.
#pragma once

#include <optional>
#include <vector>

#include "hftrain/search/study.h"

namespace hftrain::search {

// The parameters of trial `number`, of which `trials` went before; nothing: a grid has no more points. Depends on nothing
// else, so that a search that is started again draws what it would have drawn:
//   grid    the points in order, the last flag changing fastest
//   random, asha   every value of a parameter alike, those of a logarithmic range by their logarithms
//   tpe     first points that fill the space, then by Parzen estimators (Bergstra et al., NeurIPS 2011): parzen.h
std::optional<Json> draw(const Specification& specification, int number, const std::vector<Trial>& trials);

}  // namespace hftrain::search
