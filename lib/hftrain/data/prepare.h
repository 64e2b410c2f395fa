// From files to samples: finds them in the cache, or makes them with all cores.
//
// The front program calls this once, before any rank starts. The recipe of the task says how rows become
// features; these are samples, or are packed by the rules of run_clm with datasets.map: the ids of 1000 rows
// are joined and cut into blocks, what is left over is dropped. The result does not depend on the number of
// threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "hftrain/base/logger.h"
#include "hftrain/data/cache_use.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/encoder.h"
#include "hftrain/data/stream_spec.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::data {

// $HFTRAIN_CACHE, else $XDG_CACHE_HOME/hftrain, else $HOME/.cache/hftrain. None of them set: Error (exit code
// 3).
std::string cache_folder(const Environment& environment);

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
  bool exact = true;  // false: an estimate
  std::vector<std::string> columns = {kInputIds};
};

struct PreparedData {
  std::optional<PreparedSplit> train, validation, test;
  std::optional<PreparedSplit> validation_mismatched, test_mismatched;
  std::string folder;  // of the cache entry; may be given as --train_file of a later run
  bool from_cache = false;
  Json facts;                        // what the recipe's survey found
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

// The finished cache entry of `request`, if there is one. Takes milliseconds for files that were hashed
// before.
std::optional<PreparedData> find_prepared(const PrepareRequest& request);

// Finds or makes the samples; `load_tokenizer` is called once and only when there is text to tokenise.
// Memory is bounded by the longest row. Nothing is returned when `stop` became true; the cache is then as
// before. A split without a sample is an Error (exit code 4). Several processes may prepare the same
// request at once.
std::optional<PreparedData> prepare(const PrepareRequest& request, const TokenizerLoader& load_tokenizer,
                                    const PrepareObserver& observer);

// Guesses sizes from file sizes (4 bytes a token); `exact` is false. What prepare() refuses is an Error here
// too as far as the first rows of the first files show it; so little text that it may not fill a block is
// counted in blocks, if there is a tokenizer.
PreparedData estimate_prepared(const PrepareRequest& request, const TokenizerLoader& load_tokenizer = {});

// What the first rows of files that are going to be streamed show to be wrong: Error (exit code 4).
void look_at_stream(const PrepareRequest& request);

// How many of `rows` the first `percent` percent are: rounded as datasets' percent slices are, halves to
// even.
int64_t percent_of_rows(int percent, int64_t rows);

}  // namespace hftrain::data
