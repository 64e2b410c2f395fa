// Reads {"String": …} or {"Regex": …}.
#pragma once

#include <memory>

#include "hftrain/tokenizer/json_part.h"
#include "hftrain/tokenizer/pattern.h"

namespace hftrain::tokenizer {

std::shared_ptr<const Pattern> read_pattern(const JsonPart& part);

}  // namespace hftrain::tokenizer
