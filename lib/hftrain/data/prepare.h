// From files to samples: finds them in the cache, or makes them with all cores.
//
// The front program calls this once, before any rank starts. The recipe of the task says how rows become
// features; these are samples, or are packed by the rules of run_clm with datasets.map: the ids of 1000 rows
// are joined and cut into blocks, what is left over is dropped. The result does not depend on the number of
// threads.
#pragma once

#include <optional>
#include <string>

#include "hftrain/base/environment.h"
#include "hftrain/data/prepare_request.h"

namespace hftrain::data {

// $HFTRAIN_CACHE, else $XDG_CACHE_HOME/hftrain, else $HOME/.cache/hftrain. None of them set: Error (exit code
// 3).
std::string cache_folder(const Environment& environment);

// The finished cache entry of `request`, if there is one; not the folder that it names in place of files. Takes milliseconds for files that were hashed
// before.
std::optional<PreparedData> find_prepared(const PrepareRequest& request);

// PreparedData::training_key of what prepare() would make. Files that were not hashed before are read.
std::string training_key(const PrepareRequest& request);

// Finds or makes the samples; `load_tokenizer` is called once and only when there is text to tokenise.
// Memory is bounded by the longest row, but where the recipe has an order of its own: that keeps the rows (encoder.h). Nothing is returned when `stop` became true; the cache is then as
// before. A split without a sample is an Error (exit code 4). Several processes may prepare the same
// request at once.
std::optional<PreparedData> prepare(const PrepareRequest& request, const TokenizerLoader& load_tokenizer,
                                    const PrepareObserver& observer);

}  // namespace hftrain::data
