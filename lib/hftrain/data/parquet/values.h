// From Arrow's arrays to the slots of a row.
#pragma once

#include <string>

#include "hftrain/data/parquet/interface.h"

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace hftrain::data {

// The first type within `type` that no value of a record has (a time, a decimal number, bytes, a map), as Arrow
// prints it; empty when there is none.
// `takes_bytes`: they are readable, as text.
std::string unreadable_type(const arrow::DataType& type, bool takes_bytes = false);

// Copies element `index` of `array`, whose type is readable and which has been validated. Whole numbers that no int64
// holds become numbers.
void copy_value(const arrow::Array& array, int64_t index, size_t slot, ValueSlots& slots);

}  // namespace hftrain::data
