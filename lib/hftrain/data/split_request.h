// The parts of a request for data: what each split is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/prepare_request.h"

namespace hftrain::data {

struct SplitRequest {
  Split split = Split::kTrain;
  bool mismatched = false;  // the second set of that split
  DataFiles files;
  RowShare share = RowShare::kAll;
  int hold_out_percent = 0;
  std::optional<int64_t> max_samples;
};

// Files of ids for a recipe that wants rows: Error (exit code 2). Whoever prepares, estimates, surveys or streams them would
// read ids as rows.
void refuse_token_files(const DataFiles& files, const Recipe& recipe);

// The splits that a request asks for, with the part of the rows each one gets. None at all, and no stream, or files of ids
// for a recipe that takes rows: Error (exit code 2).
std::vector<SplitRequest> splits_of(const PrepareRequest& request);

// Where the results of a split stand.
std::optional<PreparedSplit>& member_of(PreparedData& data, const SplitRequest& split);

// "train", …, "validation_mismatched": the name in files and keys.
std::string name_of(const SplitRequest& split);

// "training", "validation", "test".
const char* long_name(Split split);

// Why there is nothing to train on: there are no rows, or `tokens` of them do not fill a block.
Error no_sample(const SplitRequest& split, int64_t tokens, const PrepareRequest& request);

// Whether any row of them goes through the tokenizer.
bool has_text(const PrepareRequest& request, const std::vector<SplitRequest>& splits);

// Whether rows are joined and cut into blocks.
bool packs(const PrepareRequest& request);

// A block size that nobody has resolved where rows are packed is an Error (exit code 1).
void check_block_size(const PrepareRequest& request);

// Rows that the recipe wants to see first; none without a survey. Files of ids: Error (exit code 2).
DataFiles survey_files(const PrepareRequest& request);

// How many of `rows` the first `percent` percent are: rounded as datasets' percent slices are, halves to
// even.
int64_t percent_of_rows(int percent, int64_t rows);

}  // namespace hftrain::data
