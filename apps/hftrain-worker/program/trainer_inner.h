// What a program's Trainer keeps.
#pragma once

#include <exception>
#include <memory>
#include <stdexcept>

#include "hftrain/program/trainer.h"
#include "hftrain/runtime/translate.h"
#include "program/rank.h"

namespace hftrain {

struct Trainer::Inner {
  explicit Inner(Rank& of_process) : rank(of_process) {}
  trainer::Trainer& opened() {
    if (!trainer)
      throw std::logic_error("there is no model yet: train, evaluate and predict are called by run()");
    return *trainer;
  }

  // A failed stage cannot be recovered: the run ends even if the program catches the exception; it is hftrain's own, and
  // keeps its words and its exit code.
  template <typename Stage>
  void go_through(Stage&& stage) {
    trainer::Trainer& of_run = opened();
    try {
      runtime::translate_exceptions([&] { stage(of_run); });
    } catch (...) {
      failure = std::current_exception();
      throw;
    }
  }

  // What the stages of the run ended with.
  struct Numbers {
    Metrics train, evaluation, prediction;
  };

  Rank& rank;
  Numbers numbers;
  bool trained = false;  // or about to
  std::exception_ptr failure;
  std::shared_ptr<trainer::Trainer> trainer;
};

}  // namespace hftrain
