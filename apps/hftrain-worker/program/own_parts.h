// A program's optimizer and its data loaders, as the trainer knows them.
#pragma once

#include <functional>
#include <memory>

#include "hftrain/architectures/head.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/program/trainer.h"
#include "hftrain/trainer/own_batches.h"
#include "hftrain/trainer/plugin_guard.h"

namespace hftrain {

// What the batches of a loader are for.
struct LoadsFor {
  architectures::Head head;
  bool training;
};

// `get`: of the program, which finds the loader that the run would use in `of_run`; it is null again afterwards.
// `part` answers for what the loader throws.
trainer::MakeOwnLoader own_loader(trainer::PluginPart part, std::function<std::unique_ptr<DataLoader>()> get,
                                  std::unique_ptr<DataLoader>& of_run, LoadsFor what);

// `create`: of the program; where it makes nothing, nothing is made. State that checkpoints could not keep is a std::runtime_error.
parallel::OptimizerMaker own_optimizer(trainer::PluginPart part, MakeOptimizer create);

}  // namespace hftrain
