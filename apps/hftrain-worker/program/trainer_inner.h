// What a program's Trainer keeps.
#pragma once

#include <memory>
#include <stdexcept>

#include "hftrain/program/trainer.h"
#include "program/rank.h"

namespace hftrain {

struct Trainer::Inner {
  explicit Inner(Rank& of_process) : rank(of_process) {}
  trainer::Trainer& opened() {
    if (!trainer)
      throw std::logic_error("there is no model yet: train, evaluate and predict are called by run()");
    return *trainer;
  }

  // What the stages of the run ended with.
  struct Numbers {
    Metrics train, evaluation, prediction;
  };

  Rank& rank;
  Numbers numbers;
  std::shared_ptr<trainer::Trainer> trainer;
};

}  // namespace hftrain
