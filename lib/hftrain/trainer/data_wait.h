// How a rank waits for rows of a stream: it is seen to wait and does not look like one that hangs, it hears when the run is
// to stop, and it says so when nothing comes for long.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "hftrain/trainer/event_channel.h"

namespace hftrain::trainer {

class DataWait {
 public:
  static constexpr std::chrono::milliseconds kBetweenLooks{100};
  static constexpr double kSilentSeconds = 30;  // until users are told; then twice as long, and so on

  // `stop`: somebody wishes the run to stop. `events` outlive the object.
  DataWait(EventChannel& events, std::function<bool()> stop, double silent_seconds = kSilentSeconds)
      : events_(events), stop_(std::move(stop)), silent_seconds_(silent_seconds) {}

  // Until `there`, which itself waits for kBetweenLooks, says yes; false when the run is to stop. `rows`: how many have
  // come so far. Called by the main thread.
  bool until(const std::function<bool()>& there, const std::function<int64_t()>& rows) const;

 private:
  EventChannel& events_;
  std::function<bool()> stop_;
  double silent_seconds_;
};

}  // namespace hftrain::trainer
