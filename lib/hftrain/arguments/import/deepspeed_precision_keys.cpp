// fp16, bf16 and data_types.
#include "hftrain/arguments/import/deepspeed_key_tables.h"

namespace hftrain::arguments {
namespace {

const SectionKey kFp16[] = {
    {.name = "enabled", .type = Type::kBool, .automatic = true},
    {.name = "auto_cast",
     .type = Type::kBool,
     .support = accepted("units compute in float16 themselves"),
     .neutral = "false",
     .automatic = true},
    {.name = "loss_scale", .type = Type::kFloat, .range = at_least(0), .automatic = true},
    {.name = "initial_scale_power", .type = Type::kInt, .range = between(0, 120), .automatic = true},
    {.name = "loss_scale_window", .type = Type::kInt, .range = at_least(1), .automatic = true},
    {.name = "hysteresis", .type = Type::kInt, .range = at_least(1), .automatic = true},
    {.name = "consecutive_hysteresis", .type = Type::kBool, .automatic = true},
    {.name = "min_loss_scale", .type = Type::kFloat, .range = at_least(0), .automatic = true},
    {.name = "opt_level", .support = accepted("there is no Apex here"), .neutral = "O1", .automatic = true},
    {.name = "fp16_master_weights_and_grads",
     .type = Type::kBool,
     .support = refused("loss scaling needs float32 weights"),
     .neutral = "false",
     .aliases = {"fp16_master_weights_and_gradients"}},
};

const SectionKey kBf16[] = {
    {.name = "enabled", .type = Type::kBool, .automatic = true},
    {.name = "immediate_grad_update",
     .type = Type::kBool,
     .support = accepted("gradients always join the weights' type at once"),
     .neutral = "false"},
    {.name = "check_grad_overflow",
     .type = Type::kBool,
     .support = accepted("an update whose gradients are not finite is always skipped"),
     .neutral = "true"},
    {.name = "bf16_master_weights_and_grads",
     .type = Type::kBool,
     .support = deepspeed_tables::kFullPrecision,
     .neutral = "false"},
    {.name = "bf16_optimizer_states",
     .type = Type::kBool,
     .support = deepspeed_tables::kFullPrecision,
     .neutral = "false"},
};

constexpr Support kStoredType = refused("weights and gradients have the type of --dtype", "--dtype");
const SectionKey kDataTypes[] = {
    {.name = "grad_accum_dtype", .support = kStoredType, .neutral = "fp32"},
    {.name = "param_dtype", .support = kStoredType, .neutral = "fp32"},
    {.name = "buffer_dtype", .support = kStoredType, .neutral = "fp32"},
    {.name = "keep_in_fp32_modules",
     .type = Type::kList,
     .support = refused("norms and losses are always computed in float32"),
     .automatic = true},
};

}  // namespace

namespace deepspeed_tables {

std::span<const SectionKey> fp16() {
  return kFp16;
}

std::span<const SectionKey> bf16() {
  return kBf16;
}

std::span<const SectionKey> data_types() {
  return kDataTypes;
}

}  // namespace deepspeed_tables

}  // namespace hftrain::arguments
