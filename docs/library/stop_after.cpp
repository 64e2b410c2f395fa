// A callback: training saves and stops when it has gone on for STOP_AFTER updates (environment).
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "hftrain/program/trainer.h"

namespace {

using namespace hftrain::plugin;

class StopAfter final : public Callback {
 public:
  void on_step_end(const State& state, Control& control) override {
    if (state.global_step >= last_) control.should_training_stop = control.should_save = true;
  }

 private:
  static int64_t asked_for() {
    const char* text = std::getenv("STOP_AFTER");
    if (text == nullptr) throw std::runtime_error("STOP_AFTER is not set; a number of updates");
    return std::stoll(text);
  }
  int64_t last_ = asked_for();
};

class StoppingTrainer final : public hftrain::Trainer {
 public:
  explicit StoppingTrainer(hftrain::Rank& rank) : Trainer(rank) {
    add_callback("StopAfter", std::make_unique<StopAfter>());
  }
};

}  // namespace

int main(int argc, char** argv) {
  return hftrain::main<StoppingTrainer>(argc, argv);
}
