// One JSON value of a data file, as simdjson reads it.
#pragma once

#include <simdjson.h>

#include <cstddef>

namespace hftrain::data {

// Parses the `size` bytes at `json`, behind which simdjson::SIMDJSON_PADDING more may be read. Whole numbers
// that 64 bits do not hold, which JSON allows and simdjson refuses, are read as numbers with a fraction, which
// is what a double keeps of them. `value` lives as long as the parser does not parse again.
simdjson::error_code parse_json_value(simdjson::dom::parser& parser, const char* json, size_t size,
                                      simdjson::dom::element& value);

}  // namespace hftrain::data
