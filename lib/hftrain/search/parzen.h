// Parzen estimators of where good trials are dense and the others are not, over all parameters at once.
#pragma once

#include <random>
#include <vector>

#include "hftrain/search/space.h"

namespace hftrain::search {

// `ranked`: places of the parameters of earlier trials, from the best to the worst, at least one. Of 64 points drawn near the
// good ones (a tenth of the trials, at least one) that where their density is highest beside the density of the others.
// Widths were chosen by 400 seeds of made functions: 20 trials beat 20 random ones in 90 to 98 of 100 for one or two flags, in 73 to
// 88 for three or four.
std::vector<double> draw_by_parzen(const Space& space, const std::vector<std::vector<double>>& ranked,
                                   std::mt19937_64& random);

}  // namespace hftrain::search
