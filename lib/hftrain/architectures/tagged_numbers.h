// Numbers of a config.json that JSON has no word for: transformers 5.17 writes an infinite one as {"__float__": "Infinity"}, and reads
// that and Python's own words alike.
#pragma once

#include "hftrain/base/json.h"

namespace hftrain::architectures {

// With such objects in the place of numbers that are not finite, at any depth; and the other way round. Any other object stays.
Json with_tagged_numbers(Json value);
Json without_tagged_numbers(Json value);

}  // namespace hftrain::architectures
