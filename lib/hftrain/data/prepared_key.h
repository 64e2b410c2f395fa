// By what prepared data are found again.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/data/split_request.h"

namespace hftrain::data {

// A hash of everything that decides the result: contents and formats of the files, tokenizer, options.
std::string key_of(const PrepareRequest& request, const std::vector<SplitRequest>& splits);

// The same of the training split alone: what a run learns from, whatever it is evaluated on. Empty without one.
std::string training_key_of(PrepareRequest request, const std::vector<SplitRequest>& splits);

// For people who look into the cache: whose blocks these are.
Json made_from(const PrepareRequest& request, const std::vector<SplitRequest>& splits);

}  // namespace hftrain::data
