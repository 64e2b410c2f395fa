// Everything of a transformers folder beside the weights: config.json, generation_config.json, the
// tokenizer's files.
#pragma once

#include "hftrain/checkpoint/save_target.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::checkpoint {

// What of it is the plan's and what the tokenizer's folder holds, which may have no name; what in that
// describes another model's weights is left behind.
void save_model_files(const plan::ModelPlan& model, SaveTarget& target);

}  // namespace hftrain::checkpoint
