// How the ranks' scorers become one.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "hftrain/comm/communicator.h"
#include "hftrain/tasks/scorer.h"

namespace hftrain::trainer {

using ScorerMaker = std::function<std::unique_ptr<tasks::Scorer>()>;

// A scorer of this rank's samples, and one of all, the same on every rank: states are merged in the order of
// ranks. In a world of one they are one. Both references must outlive the object.
class ScorerExchange {
 public:
  // `place`: where files of results go, on the rank that writes them; else null.
  ScorerExchange(comm::Communicator& communicator, const ScorerMaker& make, const tasks::ResultPlace* place);

  tasks::Scorer& own() { return *own_; }
  // Of the samples of all ranks handed on so far, where the task's scorer goes in pieces; else of the own ones.
  const tasks::Scorer& widest() const { return whole_ ? *whole_ : *own_; }
  bool sees_all() const { return whole_ != nullptr || communicator_.world_size() == 1; }
  // Where the task's scorer goes in pieces: what own() has goes to that of all. Collective.
  void hand_on();
  // That of all, with what was not handed on. Collective.
  std::unique_ptr<tasks::Scorer> finish();

 private:
  void merge(const std::vector<double>& own);

  comm::Communicator& communicator_;
  const ScorerMaker& make_;
  const tasks::ResultPlace* place_;
  std::unique_ptr<tasks::Scorer> own_, whole_;
};

}  // namespace hftrain::trainer
