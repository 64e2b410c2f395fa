// How the ranks' scorers become one.
#pragma once

#include <functional>
#include <memory>

#include "hftrain/comm/communicator.h"
#include "hftrain/tasks/scorer.h"

namespace hftrain::trainer {

using ScorerMaker = std::function<std::unique_ptr<tasks::Scorer>()>;

// A scorer with the states of all ranks, merged in the order of ranks: the same on all of them. In a world of one
// it is `own`. Collective.
std::unique_ptr<tasks::Scorer> scorer_of_all(comm::Communicator& communicator,
                                             std::unique_ptr<tasks::Scorer> own, const ScorerMaker& make);

}  // namespace hftrain::trainer
