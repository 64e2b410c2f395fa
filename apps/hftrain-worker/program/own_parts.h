// A program's optimizer, its batches and its data loaders, as the trainer knows them.
#pragma once

#include <functional>
#include <memory>

#include "hftrain/models/batch.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/program/trainer.h"
#include "hftrain/trainer/own_batches.h"
#include "hftrain/trainer/plugin_guard.h"

namespace hftrain {

// `get`: of the program, which finds the loader that the run would use in `of_run`; it is null again afterwards.
// `part` answers for what the loader throws.
trainer::MakeOwnLoader own_loader(trainer::PluginPart part, std::function<std::unique_ptr<DataLoader>()> get,
                                  std::unique_ptr<DataLoader>& of_run);

// `create`: of the program; nothing made is a std::runtime_error.
parallel::OptimizerMaker own_optimizer(MakeOptimizer create);

// The columns that are there.
Batch columns_of(const models::Batch& batch);
// std::runtime_error for a column that no model takes.
models::Batch batch_of(const Batch& columns);

}  // namespace hftrain
