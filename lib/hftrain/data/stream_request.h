// What a run asks of a stream of its training rows.
#pragma once

#include "hftrain/data/prepare_request.h"
#include "hftrain/data/stream_spec.h"

namespace hftrain::data {

// Of a request whose training rows are to be streamed: looks at the files and at the tokenizer, and reads no rows but the
// first of a file, for its columns. Errors: the task's rows cannot be streamed, or not with these options, or the files hold token
// ids (exit code 2); files that are not there, or that cannot be read again (exit code 4).
StreamSpec spec_of_stream(const PrepareRequest& request, const TokenizerLoader& load_tokenizer);

// Of the stream `spec` of this request what PreparedData::training_key is of prepared rows.
std::string training_key_of_stream(const PrepareRequest& request, const StreamSpec& spec);

}  // namespace hftrain::data
