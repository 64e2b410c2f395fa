// Sizes that a description gives as sums of products of config keys and whole numbers: "4*hidden_size+2".
#pragma once

#include <cstdint>
#include <string>

#include "hftrain/base/json.h"

namespace hftrain::architectures {

// With the values of `config`. Error (kData) that names `origin` for another form, a key that is no whole number from 0 on, or a
// result that does not fit.
int64_t size_of_expression(const std::string& expression, const Json& config, const std::string& origin);

}  // namespace hftrain::architectures
