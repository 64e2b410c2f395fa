// When asha stops a trial: asynchronous successive halving (Li et al., MLSys 2020), by evaluations.
#pragma once

#include <vector>

namespace hftrain::search {

// A trial is looked at after 1, 3, 9, … evaluations. It goes on where its metric is among the best third of those that have
// come so far, itself included, or where fewer than three have.
//   metrics[t]: what the evaluations of trial t have given so far, in order; of trial `own` the newest is the one to judge.
// NaN is the worst.
bool is_behind(const std::vector<std::vector<double>>& metrics, size_t own, bool greater_is_better);

}  // namespace hftrain::search
