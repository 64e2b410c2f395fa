// Searches on several ranks over one model in parts: a part is gathered by all ranks at once, so that none may take a
// step that another does not.
#pragma once

#include <span>

#include "hftrain/comm/communicator.h"
#include "hftrain/generation/token_model.h"

namespace hftrain::trainer {

// Takes the steps of `model`, each of which all ranks begin together. A rank whose texts are complete goes on with a
// row that nobody reads. Both references must outlive the object. Collective; used by one thread.
class StepsTogether final : public generation::TokenModel {
 public:
  // `filler`: an id for that row.
  StepsTogether(generation::TokenModel& model, comm::Communicator& communicator, int64_t filler)
      : model_(model), communicator_(communicator), filler_(filler) {}

  int64_t vocabulary() const override { return model_.vocabulary(); }
  std::span<const float> start() override;
  std::span<const float> next(std::span<const int64_t> tokens, std::span<const int64_t> parents) override;
  // This rank's texts are complete: takes steps until those of all ranks are.
  void finish();

 private:
  // Whether any rank has a step to take.
  bool any(bool own) { return communicator_.maximum(own ? 1 : 0) == 1; }

  generation::TokenModel& model_;
  comm::Communicator& communicator_;
  int64_t filler_;
};

}  // namespace hftrain::trainer
