// How much data there will be, before it is prepared.
#pragma once

#include "hftrain/data/prepare_request.h"

namespace hftrain::data {

// Guesses sizes from file sizes (4 bytes a token); `exact` is false. What prepare() refuses is an Error here
// too as far as the first rows of the first files show it; so little text that it may not fill a block is
// counted in blocks, if there is a tokenizer.
PreparedData estimate_prepared(const PrepareRequest& request, const TokenizerLoader& load_tokenizer = {});

}  // namespace hftrain::data
