// Trainer::notify, for the sources that make up the Trainer.
#pragma once

#include "hftrain/trainer/trainer.h"

namespace hftrain::trainer {

template <typename Event, typename... Arguments>
void Trainer::notify(Event event, const Arguments&... arguments) {
  for (const auto& callback : callbacks_) ((*callback).*event)(state_, control_, arguments...);
}

}  // namespace hftrain::trainer
