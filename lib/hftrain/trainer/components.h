// What a plan's names stand for: the parts that a Trainer is put together from.
#pragma once

#include <memory>

#include "hftrain/comm/communicator.h"
#include "hftrain/data/collator.h"
#include "hftrain/data/dataset.h"
#include "hftrain/models/model.h"
#include "hftrain/optim/gradient_scaler.h"
#include "hftrain/optim/schedule.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/evaluated_set.h"
#include "hftrain/trainer/scorer_exchange.h"

namespace hftrain::trainer {

// "float32", "bfloat16" or "float16", as plans spell them.
at::ScalarType dtype_named(const std::string& name);

std::unique_ptr<models::Model> make_model(const plan::RunPlan& plan, at::Device device);
// `make_optimizer`: not set, or where it makes nothing, that of the plan.
std::unique_ptr<parallel::Strategy> make_strategy(const plan::RunPlan& plan, const models::Model& model,
                                                  comm::Communicator& communicator,
                                                  parallel::OptimizerMaker make_optimizer = {});
// Activation checkpointing around the strategy's runner; null when the plan asks for none. Must not outlive
// the strategy.
std::unique_ptr<nn::UnitRunner> make_checkpointing(const plan::RunPlan& plan, parallel::Strategy& strategy);
// For the batches of a split, which may lack columns of others (labels of test data).
std::shared_ptr<const data::Collator> make_collator(const plan::DataPlan& data, const plan::SplitPlan& split,
                                                    bool trains = false);
// What judges an evaluation of that split; not set where the loss alone is wanted. `writes`: its files are
// going to be asked for. `plan` must outlive what it returns.
ScorerMaker make_scorer_maker(const plan::RunPlan& plan, std::shared_ptr<const data::Dataset> dataset,
                              EvaluatedSet set, bool writes);
std::unique_ptr<optim::Schedule> make_schedule(const plan::RunPlan& plan);
optim::GradientScaler make_scaler(const plan::RunPlan& plan, at::Device device);

}  // namespace hftrain::trainer
