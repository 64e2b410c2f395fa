// The lengths of samples, for orders that look at them: of a column that the user counted beforehand, or of the
// samples themselves.
#pragma once

#include <cstdint>
#include <string>

#include "hftrain/data/dataset.h"
#include "hftrain/data/encoder.h"
#include "hftrain/data/sample_order.h"

namespace hftrain::data {

// The column of a prepared split in which lengths lie.
inline constexpr const char* kLengths = "length";
inline constexpr int32_t kUncounted = -1;

// The recipe, for one sample a row, with a column `kLengths`: the whole number that the row has in the column `name`,
// and kUncounted where the files have no such column. The recipe itself does not get to see that
// column. A length that is no whole number from 0 on, or one for a row that gives several samples or none, is an
// Error (exit code 4).
Recipe with_lengths(Recipe recipe, const std::string& name);

// Of every sample: its number in the column `kLengths` where it was counted there, else of its token ids; of rows that are padded to
// one length (`padded`, 0: they are not) that length. Samples without token ids (images) are all of one length.
SampleLengths lengths_of_samples(const Dataset& dataset, int64_t padded = 0);

}  // namespace hftrain::data
