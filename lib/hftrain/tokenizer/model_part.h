// Reads the `model` of a tokenizer.json.
#pragma once

#include <memory>

#include "hftrain/tokenizer/json_part.h"
#include "hftrain/tokenizer/model.h"

namespace hftrain::tokenizer {

// Throws Error (exit code 4) for a kind of model that is not known, and for one that is torn.
std::shared_ptr<const Model> read_model(const JsonPart& part);

}  // namespace hftrain::tokenizer
