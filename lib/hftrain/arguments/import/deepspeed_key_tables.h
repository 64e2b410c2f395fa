// The tables behind deepspeed_keys(), a file for each part of a DeepSpeed configuration, and what several of them say of
// keys without effect. Only those files and deepspeed_keys.cpp include it.
#pragma once

#include <span>

#include "hftrain/arguments/import/section_check.h"

namespace hftrain::arguments {
namespace deepspeed_tables {

inline constexpr Support kOwnFiles = accepted("any checkpoint loads at any world size and with any strategy");
inline constexpr Support kRemoved = refused("this build has none of it, nor has deepspeed 0.19");
inline constexpr Support kNotHere = refused("this build has none of it");
inline constexpr Support kFullPrecision =
    refused("weights and optimizer state have one type", "--dtype bfloat16");

// The keys of one section each. A table may name another one before that is filled in: a span holds its address alone.
// deepspeed_zero_keys.cpp
std::span<const SectionKey> zero();
// deepspeed_precision_keys.cpp
std::span<const SectionKey> fp16();
std::span<const SectionKey> bf16();
std::span<const SectionKey> data_types();
// deepspeed_optimizer_keys.cpp, without those of params
std::span<const SectionKey> optimizer();
std::span<const SectionKey> scheduler();
// deepspeed_other_keys.cpp
std::span<const SectionKey> aio();
std::span<const SectionKey> checkpoint();
std::span<const SectionKey> activation_checkpointing();
std::span<const SectionKey> flops_profiler();
std::span<const SectionKey> tensorboard();
std::span<const SectionKey> csv_monitor();
std::span<const SectionKey> wandb();
std::span<const SectionKey> comet();
std::span<const SectionKey> comms_logger();
std::span<const SectionKey> timers();
// deepspeed_switched_keys.cpp
std::span<const SectionKey> pipeline();
std::span<const SectionKey> data_efficiency();
std::span<const SectionKey> autotuning();
std::span<const SectionKey> hybrid_engine();
std::span<const SectionKey> compile();
std::span<const SectionKey> tensor_parallel();
std::span<const SectionKey> torch_autocast();

}  // namespace deepspeed_tables
}  // namespace hftrain::arguments
