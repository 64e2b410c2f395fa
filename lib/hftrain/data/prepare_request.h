// What is asked of the preparation of data, and what comes of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/base/logger.h"
#include "hftrain/data/cache_use.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/encoder.h"
#include "hftrain/data/stream_spec.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::data {

struct PrepareRequest {
  // Paths and globs as find_data_files takes them; an empty list means that the split is not wanted.
  std::vector<std::string> train_files, validation_files, test_files;
  std::vector<std::string> validation_mismatched_files, test_mismatched_files;  // second sets of these splits
  // Without validation files: this share of the training rows, the first ones, becomes the validation split.
  std::optional<int> hold_out_percent;
  bool training_split = true;  // false: of the training files only the held-out share is wanted
  // The ranks read the training rows themselves (sample_stream.h): nothing is made of them here. What is held out are the
  // first rows of every hundred, so that nobody has to count them.
  bool streams_training = false;
  // Held-out rows are the first of every hundred: of data that are streamed where they are trained on.
  bool holds_out_of_hundreds = false;
  Recipe recipe = packed_text("clm");
  // What the recipe's survey looks at, whether a split is made of it or not; ignored without a survey.
  std::vector<std::string> survey_files;
  std::string tokenizer_folder;  // unused when all files hold token ids
  int64_t block_size = 0;        // tokens of a sample, where rows are packed; the plan resolves it
  bool keep_linebreaks = true;
  std::optional<int64_t> max_train_samples, max_eval_samples, max_predict_samples;  // the first ones

  // Where and how; without influence on the result.
  std::string cache_folder;
  bool overwrite_cache = false;
  int workers = 0;  // threads; 0: all cores
};

struct PreparedSplit {
  std::string cache_path;  // prefix for Dataset::open; empty in an estimate
  int64_t samples = 0;
  int64_t tokens = 0;  // in these samples
  int64_t largest_token_id = 0;
  int64_t longest = 0;  // tokens of the longest sample; 0: nobody looked
  bool exact = true;    // false: an estimate
  std::vector<std::string> columns = {kInputIds};
  // What users should know of the rows; of an entry of before they were kept: nothing.
  std::vector<std::string> remarks;
};

struct PreparedData {
  std::optional<PreparedSplit> train, validation, test;
  std::optional<PreparedSplit> validation_mismatched, test_mismatched;
  std::string folder;  // of the cache entry; may be given as --train_file of a later run
  bool from_cache = false;
  std::string training_key;  // a hash of what the training samples are made of; empty where it is not known
  Json facts;                // what the recipe's survey found
  std::optional<StreamSpec> stream;  // of training rows that nobody prepared
  // What prepare() returns is in use for as long as this lives; of find_prepared() it is empty.
  std::vector<std::shared_ptr<const CacheUse>> held;
};

struct PrepareProgress {
  enum class Stage { kCountingRows, kSurveying, kTokenizing };
  Stage stage = Stage::kTokenizing;
  Split split = Split::kTrain;
  uint64_t bytes_done = 0;  // of the files as they lie on disk
  uint64_t bytes_total = 0;
  int64_t tokens = 0;
};

struct PrepareObserver {
  std::function<void(const PrepareProgress&)>
      progress;  // called from the calling thread, a few times a second at most
  const std::atomic<bool>* stop = nullptr;
  Logger logger;
};

using TokenizerLoader = std::function<std::shared_ptr<const tokenizer::Tokenizer>()>;

}  // namespace hftrain::data
