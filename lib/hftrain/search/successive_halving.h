// When asha stops a trial: asynchronous successive halving (Li et al., MLSys 2020), by evaluations.
#pragma once

#include <cstddef>
#include <vector>

namespace hftrain::search {

// A trial is judged at its rungs, which are 1, 3, 9, … evaluations. It goes on where its metric there is among the best third of
// those that have come so far, itself included, or where fewer than three have. Who looks now and then may find several rungs
// passed: each is judged by the metric there.
//   metrics[t]: what the evaluations of trial t have given so far, in order.
//   judged: as many evaluations of trial `own` were there at the look before; 0: none.
// NaN is the worst.
bool is_behind(const std::vector<std::vector<double>>& metrics, size_t own, size_t judged,
               bool greater_is_better);

// `judged` of a trial that is gone on with after so many evaluations: at its newest rung it is judged (again), since it may have
// ended before anybody looked; those before let it go on.
size_t judged_before(size_t evaluations);

}  // namespace hftrain::search
