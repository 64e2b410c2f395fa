// The columns of the first file of a run, which the other files have to have too: the example scripts choose them of the
// training data and fail on a split without them.
#pragma once

#include "hftrain/data/encoder.h"
#include "hftrain/data/prepare_request.h"
#include "hftrain/data/row_source.h"

namespace hftrain::data {

// What the first file of the request chooses, of the training files, else of those that are surveyed, validated and predicted,
// in this order. Files of token ids, of lines and of images name no columns, and one that cannot be read settles nothing: whoever
// reads it says what is wrong. No names where there is no such file.
SettledColumns settled_columns(const PrepareRequest& request);

// `recipe`, whose rules ask all files for `columns`; as it is where these have no names.
Recipe with_settled_columns(Recipe recipe, const SettledColumns& columns);

// `request` with the recipe that settled_columns() of it leads to.
PrepareRequest with_settled_columns(PrepareRequest request);

}  // namespace hftrain::data
