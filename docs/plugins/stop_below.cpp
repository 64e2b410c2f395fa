// A callback: the run saves and stops when the logged loss falls below STOP_BELOW (environment), and the best loss so far is
// kept with its checkpoints.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "hftrain/plugin/plugin.h"

namespace {

using namespace hftrain::plugin;

double asked_for() {
  const char* text = std::getenv("STOP_BELOW");
  if (text == nullptr) throw std::runtime_error("STOP_BELOW is not set; a loss such as 2.5");
  return std::stod(text);
}

class StopBelow final : public Callback {
 public:
  void on_log(const State&, Control& control, const Metrics& record) override {
    for (const auto& [name, value] : record) {
      if (name != "loss") continue;
      best_ = std::min(best_, value);
      if (value < bar_) control.should_training_stop = control.should_save = true;
    }
  }
  std::string save_state() const override { return std::to_string(best_); }
  void load_state(const std::string& text) override { best_ = std::stod(text); }

 private:
  double bar_ = asked_for();
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace

HFTRAIN_PLUGIN("stop below") {
  registry.callback("StopBelow", [](const Run&) { return std::make_unique<StopBelow>(); });
}
