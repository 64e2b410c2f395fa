// The keys of mapping-valued flags, and the typed structs to and from Json.
#pragma once

#include <span>

#include "hftrain/arguments/flag.h"
#include "hftrain/arguments/mappings.h"

namespace hftrain::arguments {

std::span<const Key> accelerator_keys();
std::span<const Key> gradient_checkpointing_keys();
std::span<const Key> liger_kernel_keys();
std::span<const Key> model_init_keys();

}  // namespace hftrain::arguments
