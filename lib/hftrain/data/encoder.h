// How a task makes features of rows, and how those are arranged into samples.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/document_packer.h"
#include "hftrain/data/features.h"
#include "hftrain/data/records.h"
#include "hftrain/data/row_source.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::data {

// What users should know of rows.
struct Remark {
  std::string about;     // the same for the same matter, however many rows it is true of
  std::string sentence;  // without a full stop
};

// Immutable: any number of threads encode with one at the same time, and the same rows always give the same
// features.
class Encoder {
 public:
  virtual ~Encoder() = default;
  // The first column is input_ids where there is a tokenizer.
  virtual FeatureSchema schema() const = 0;
  // Adds the features of all rows, in their order. What a row lacks or holds wrongly is an Error (exit code
  // 4) at Records::where().
  virtual void encode(const Records& records, Features& features) const = 0;
  // Of the rows encoded so far.
  virtual std::vector<Remark> remarks() const { return {}; }
  // Throws an Error (exit code 4) when nothing at all can be learnt from the rows encoded so far, though none is wrong by
  // itself. The caller says where they are.
  virtual void check_all() const {}
};

// The part of the training rows that a split gets.
enum class RowShare { kAll, kHeldOut, kAfterHeldOut };

enum class Arrangement {
  kPack,      // all sequences are joined and cut into blocks of one length
  kKeepRows,  // each feature is a sample; the batch pads them
};

// What prepare() needs to know of a task. The functions are pure.
struct Recipe {
  std::string task;
  // All that decides the features beside files, tokenizer and what the survey finds; part of the cache key.
  Json options = Json::object();
  Json training_options = nullptr;  // of those, what training rows are made by; null: all of them
  Arrangement arrangement = Arrangement::kPack;
  std::string_view length_flag =
      "--block_size";  // by which the length of blocks, or of the longest row, is asked for
  // Of kKeepRows: how the samples of a split are joined. Not set, or nothing: they stay as they are.
  std::function<std::optional<PackingOptions>(Split)> packing;
  std::optional<PackingOptions> packing_of(Split split) const {
    return packing ? packing(split) : std::nullopt;
  }
  std::optional<uint64_t>
      shuffle_seed;  // samples are put into the order of datasets' shuffle, before and after packing
  bool takes_token_files = false;  // files that hold its input_ids already are data too; only of kPack
  // Which columns of the rows are read for a split.
  std::function<ColumnRule(Split)> columns;
  bool reads_text = true;      // the encoder needs a tokenizer; false: it is given none
  bool image_folders = false;  // folders of images are files with rows
  // Which rows of `rows` a split has, and in which order; not set: all, or their first ones, as they stand in the
  // files. Rows are then kept in memory until they are encoded, and hold single values only.
  std::function<std::vector<int64_t>(int64_t rows, Split split, RowShare share,
                                     std::optional<int64_t> max_samples)>
      order;
  // Looks at the rows of a split as they are read, one after the other and before they are encoded, and throws an
  // Error for one that does not go with those before it. Not set: there is nothing to look for.
  std::function<std::function<void(const Records& records, size_t row)>(Split)> watch;
  // What has to be known of the training rows before any row is encoded, such as the set of labels: called
  // with all of them. Nothing when `stopped` said so. Not set: nothing has to be known.
  std::function<std::optional<Json>(RowSource& rows, const std::function<bool()>& stopped)> survey;
  std::function<ColumnRule(Split)> survey_columns;  // what it reads; not set: what encoding does
  // All that TaskRow::recipe_again() needs to make this recipe in another program; null: the task's rows cannot be streamed.
  Json settings = nullptr;
  Json facts;  // in the place of a survey's, where nothing has to be looked for; part of the cache key
  // `facts`: what the survey found, or those above.
  std::function<std::unique_ptr<Encoder>(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, Split split,
                                         const Json& facts)>
      encoder;
};

// One column of text, tokenised row by row with special tokens, joined and cut into blocks: language
// modelling.
Recipe packed_text(const std::string& task);

}  // namespace hftrain::data
