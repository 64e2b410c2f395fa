// A folder that prepare() wrote, named as data: of language modelling its tokens are cut anew (data_files.h), of any other task its
// samples are taken as they are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/data/prepare_request.h"
#include "hftrain/data/split_request.h"

namespace hftrain::data {

// Keys for the record of an entry, by which a later run tells whether its samples are what it would make: the task and its options,
// the limits of the splits, the tokenizer. `tokenizer`: null where there was no text.
Json recipe_record(const PrepareRequest& request, const std::vector<SplitRequest>& splits,
                   const tokenizer::Tokenizer* tokenizer);

// The folder whose samples are the data of this request; nothing where it names files, or its task cuts tokens anew. Such a folder
// beside other data, or one to be streamed: Error (exit code 2).
std::optional<std::string> folder_of_samples(const PrepareRequest& request);

// The splits of `folder` that are asked for, with what the survey of its rows found. Samples that this request would make otherwise,
// and limits that they do not have: Error (exit code 2) that names them. A split that is not there, damaged files: Error (exit code 4).
// Not held.
PreparedData take_samples(const std::string& folder, const PrepareRequest& request,
                          const TokenizerLoader& load_tokenizer);

// Tokens of a prepared folder that another vocabulary than the run's has made: Error (exit code 4). Loads the tokenizer only where its
// files are others.
void refuse_other_vocabulary(const PrepareRequest& request, const TokenizerLoader& load_tokenizer);

}  // namespace hftrain::data
