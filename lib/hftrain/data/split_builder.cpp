#include "hftrain/data/split_builder.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/data/block_packer.h"
#include "hftrain/data/column_file.h"
#include "hftrain/data/row_encoding.h"
#include "hftrain/data/row_source.h"
#include "hftrain/data/shuffling_sink.h"

namespace hftrain::data {
namespace {

constexpr double kSecondsBetweenReports = 0.2;
constexpr int64_t kRowsBetweenChecks = 1024;

std::vector<SequenceWriter*> pointers_to(const std::vector<std::unique_ptr<ColumnWriter>>& writers) {
  std::vector<SequenceWriter*> pointers;
  for (const auto& writer : writers) pointers.push_back(writer.get());
  return pointers;
}

}  // namespace

std::optional<PreparedSplit> SplitBuilder::build(const SplitRequest& split, const std::string& prefix,
                                                 const Json& facts) {
  return split.files.tokenized() ? build_from_tokens(split, prefix) : build_from_rows(split, prefix, facts);
}

void SplitBuilder::report(const DataFiles& files, Split split, PrepareProgress::Stage stage,
                          uint64_t bytes_done, int64_t tokens) {
  if (!observer_.progress) return;
  const double now = monotonic_seconds();
  if (now - last_report_ < kSecondsBetweenReports) return;
  last_report_ = now;
  if (!total_bytes_ || total_bytes_->first != split) total_bytes_ = {split, bytes_of(files)};
  observer_.progress({stage, split, bytes_done, total_bytes_->second, tokens});
}

RowOptions SplitBuilder::row_options(Split split) const {
  return {.keep_linebreaks = request_.keep_linebreaks, .columns = request_.recipe.columns(split)};
}

std::optional<Json> SplitBuilder::survey(const DataFiles& files) {
  if (!request_.recipe.survey) return std::optional<Json>(std::in_place, request_.recipe.facts);
  RowOptions options = row_options(Split::kTrain);
  if (request_.recipe.survey_columns) options.columns = request_.recipe.survey_columns(Split::kTrain);
  const auto rows = open_rows(files.rows, options);
  const auto looked = [&] {
    report(files, Split::kTrain, PrepareProgress::Stage::kSurveying, rows->file_position(), 0);
    return stopped();
  };
  try {
    return request_.recipe.survey(*rows, looked);
  } catch (Error& error) {  // of all rows together
    if (!error.diagnostics().front().where.empty()) throw;
    const std::vector<std::string> paths = files.paths();
    if (paths.empty()) throw error.where("--train_file");
    throw error.where(paths.front() +
                      (paths.size() > 1 ? " and " + std::to_string(paths.size() - 1) + " more" : ""));
  }
}

std::optional<int64_t> SplitBuilder::count_rows(const SplitRequest& split) {
  const RowOptions options = row_options(split.split);
  const auto rows = open_rows(split.files.rows, options);
  Records records(options.columns.columns);
  int64_t count = 0;
  while (rows->next(records)) {
    records.clear();
    if (++count % kRowsBetweenChecks != 0) continue;
    if (stopped()) return std::nullopt;
    report(split, PrepareProgress::Stage::kCountingRows, rows->file_position(), 0);
  }
  return count;
}

SplitBuilder::RowRange SplitBuilder::range_of(const SplitRequest& split, int64_t rows) const {
  const int64_t held_out = percent_of_rows(split.hold_out_percent, rows);
  if (held_out == 0 || held_out == rows) {
    throw Error(ExitCode::kData, "the training data is too small to hold out validation data from it")
        .where("--validation_split_percentage")
        .why(std::to_string(split.hold_out_percent) + " % of " + std::to_string(rows) + " rows is " +
             (held_out == 0 ? "none" : "all of them"))
        .hint("choose another percentage, or name a --validation_file");
  }
  return split.share == RowShare::kHeldOut ? RowRange{0, held_out} : RowRange{held_out, -1};
}

std::unique_ptr<RowSource> SplitBuilder::rows_of(const SplitRequest& split) {
  const Recipe& recipe = request_.recipe;
  if (request_.holds_out_of_hundreds && split.share == RowShare::kHeldOut)
    return rows_of_hundreds(open_rows(split.files.rows, row_options(split.split)), split.hold_out_percent,
                            HundredPart::kFirst);
  std::optional<int64_t> count = split.share == RowShare::kAll ? std::nullopt : training_rows_;
  if (!count && (split.share != RowShare::kAll || recipe.order)) count = count_rows(split);
  if (split.share != RowShare::kAll) training_rows_ = count;
  if (!count && (split.share != RowShare::kAll || recipe.order)) return nullptr;
  const RowOptions options = row_options(split.split);
  auto rows = open_rows(split.files.rows, options);
  if (recipe.order) {
    return row_order(std::move(rows), options.columns.columns,
                     recipe.order(*count, split.split, split.share, split.max_samples));
  }
  const RowRange range = count ? range_of(split, *count) : RowRange{};
  rows = row_window(std::move(rows), range.begin, range.end);
  if (const auto look = recipe.watch ? recipe.watch(split.split) : nullptr)
    rows = watched_rows(std::move(rows), look);
  return rows;
}

std::optional<PreparedSplit> SplitBuilder::build_from_rows(const SplitRequest& split,
                                                           const std::string& prefix, const Json& facts) {
  const std::unique_ptr<RowSource> rows = rows_of(split);
  if (!rows) return std::nullopt;
  if (!tokenizer_ && request_.recipe.reads_text) tokenizer_ = load_tokenizer_();
  const std::unique_ptr<Encoder> encoder = request_.recipe.encoder(tokenizer_, split.split, facts);
  const FeatureSchema schema = packed_schema(encoder->schema(), request_.recipe.packing_of(split.split));
  Writers writers;
  for (const FeatureColumn& column : schema) {
    writers.push_back(std::make_unique<ColumnWriter>(column_prefix(prefix, column.name), column.type,
                                                     tokenizer_ ? tokenizer_->vocab_size() : 0));
  }
  const std::unique_ptr<FeatureSink> sink = sink_for(split, schema, prefix, writers);
  if (!encode_rows(split, *rows, *encoder, *sink)) return std::nullopt;
  sink->finish();
  if (stopped()) return std::nullopt;  // it may have ended before its last sample
  check_all(split, *encoder);
  return finish(split, *sink, schema, writers, prefix, encoder->remarks());
}

void SplitBuilder::check_all(const SplitRequest& split, const Encoder& encoder) {
  try {
    encoder.check_all();
  } catch (Error& error) {
    throw error.where(split.files.paths().front());
  }
}

std::unique_ptr<FeatureSink> SplitBuilder::sink_for(const SplitRequest& split, const FeatureSchema& schema,
                                                    const std::string& prefix, Writers& writers) const {
  if (request_.recipe.arrangement == Arrangement::kKeepRows)
    return keeper_for(split, schema, prefix, writers);
  return std::make_unique<BlockPacker>(request_.block_size, split.max_samples, pointers_to(writers));
}

std::unique_ptr<FeatureSink> SplitBuilder::keeper_for(const SplitRequest& split, const FeatureSchema& schema,
                                                      const std::string& prefix, Writers& writers) const {
  const auto shuffled = [&](const char* stage, const FeatureSchema& columns,
                            std::optional<int64_t> max_samples,
                            std::unique_ptr<FeatureSink> next) -> std::unique_ptr<FeatureSink> {
    const std::optional<uint64_t> seed = request_.recipe.shuffle_seed;
    if (!seed) return next;
    return std::make_unique<ShufflingSink>(columns, prefix + stage, tokenizer_ ? tokenizer_->vocab_size() : 0,
                                           *seed, max_samples, observer_.stop, std::move(next));
  };
  std::unique_ptr<FeatureSink> sink =
      shuffled(".samples", schema, split.max_samples,
               std::make_unique<RowKeeper>(schema, pointers_to(writers), split.max_samples));
  const std::optional<PackingOptions> packing = request_.recipe.packing_of(split.split);
  if (!packing) return sink;
  FeatureSchema columns = schema;
  if (packing->keeps_documents()) columns.pop_back();
  return shuffled(".rows", columns, std::nullopt,
                  std::make_unique<DocumentPacker>(*packing, columns.size(), std::move(sink)));
}

bool SplitBuilder::encode_rows(const SplitRequest& split, RowSource& rows, const Encoder& encoder,
                               FeatureSink& sink) {
  const size_t threads = request_.workers > 0 ? static_cast<size_t>(request_.workers)
                                              : std::max(1u, std::thread::hardware_concurrency());
  const RowEncoding how = {.threads = threads, .stop = observer_.stop, .read = [&] {
                             report(split, PrepareProgress::Stage::kTokenizing, rows.file_position(),
                                    sink.tokens_seen());
                           }};
  return data::encode_rows(rows, request_.recipe.columns(split.split).columns, encoder, request_.recipe, how,
                           sink);
}

std::optional<PreparedSplit> SplitBuilder::build_from_tokens(const SplitRequest& split,
                                                             const std::string& prefix) {
  const std::optional<TokensOfSplit> tokens = look_at_tokens(split);
  if (!tokens) return std::nullopt;
  if (lies_in_blocks(split, *tokens)) return split_where_it_lies(split, *tokens);
  Writers writers;
  writers.push_back(std::make_unique<ColumnWriter>(prefix, tokens->largest_id + 1));
  BlockPacker packer(request_.block_size, split.max_samples, {writers.front().get()});
  if (!pack(*tokens, packer)) return std::nullopt;
  return finish(split, packer, {{kInputIds}}, writers, prefix);
}

std::optional<PreparedSplit> SplitBuilder::measure_tokens(const SplitRequest& split) {
  const std::optional<TokensOfSplit> tokens = look_at_tokens(split);
  if (!tokens) return std::nullopt;
  if (lies_in_blocks(split, *tokens)) return split_where_it_lies(split, *tokens);
  UnwrittenIds blocks;
  BlockPacker packer(request_.block_size, split.max_samples, {&blocks});
  if (!pack(*tokens, packer)) return std::nullopt;
  if (blocks.sequences() == 0) throw no_sample(split, packer.tokens_seen(), request_);
  return PreparedSplit{"", blocks.sequences(), blocks.tokens(), blocks.largest_id()};
}

std::optional<SplitBuilder::TokensOfSplit> SplitBuilder::look_at_tokens(const SplitRequest& split) const {
  TokensOfSplit tokens{.sequences = SequenceList(split.files.token_prefixes), .range = {}};
  RowRange& range = tokens.range;
  if (split.share != RowShare::kAll) range = range_of(split, tokens.sequences.size());
  if (range.end < 0) range.end = tokens.sequences.size();
  int64_t smallest_id = 0;
  tokens.sequences.visit(range.begin, range.end, [&](const std::vector<int64_t>& ids) {
    tokens.all_full_blocks =
        tokens.all_full_blocks && static_cast<int64_t>(ids.size()) == request_.block_size;
    tokens.count += static_cast<int64_t>(ids.size());
    for (const int64_t id : ids) {
      smallest_id = std::min(smallest_id, id);
      tokens.largest_id = std::max(tokens.largest_id, id);
    }
    return !stopped();
  });
  if (stopped()) return std::nullopt;
  if (smallest_id < 0 || tokens.largest_id >= std::numeric_limits<int32_t>::max()) {
    throw Error(ExitCode::kData, "a token file holds numbers that are no token ids")
        .where(split.files.token_prefixes.front() + ".bin")
        .why("one of them is " + std::to_string(smallest_id < 0 ? smallest_id : tokens.largest_id))
        .hint("write the tokens again, with the ids of the model's tokenizer");
  }
  return tokens;
}

// Grouping leaves sequences of exactly one block as they are, so such a file is used where it lies.
bool SplitBuilder::lies_in_blocks(const SplitRequest& split, const TokensOfSplit& tokens) {
  return tokens.all_full_blocks && split.files.token_prefixes.size() == 1 && !split.max_samples &&
         split.share == RowShare::kAll && tokens.sequences.size() > 0;
}

PreparedSplit SplitBuilder::split_where_it_lies(const SplitRequest& split, const TokensOfSplit& tokens) {
  const std::string place = std::filesystem::absolute(split.files.token_prefixes.front()).string();
  return {place, tokens.sequences.size(), tokens.count, tokens.largest_id};
}

bool SplitBuilder::pack(const TokensOfSplit& tokens, BlockPacker& packer) const {
  int64_t rows_in_group = 0;
  const RowRange& range = tokens.range;
  tokens.sequences.visit(range.begin, range.end, [&](const std::vector<int64_t>& ids) {
    packer.add(std::vector<int32_t>(ids.begin(), ids.end()));
    if (++rows_in_group == kRowsPerGroup) {
      packer.end_group();
      rows_in_group = 0;
    }
    return !packer.full() && !stopped();
  });
  return !stopped();
}

PreparedSplit SplitBuilder::finish(const SplitRequest& split, const FeatureSink& sink,
                                   const FeatureSchema& schema, Writers& writers, const std::string& prefix,
                                   const std::vector<Remark>& remarks) const {
  const ColumnWriter& ids = *writers.front();
  std::vector<std::string> sentences;
  for (const Remark& remark : remarks) sentences.push_back(remark.sentence);
  if (ids.sequences() == 0) {
    Error error = no_sample(split, sink.tokens_seen(), request_);
    throw remarks.empty() ? error : error.why(join(sentences, "; "));
  }
  PreparedSplit made{prefix, ids.sequences(), ids.tokens(), ids.largest_id(), ids.longest()};
  made.remarks = std::move(sentences);
  if (!request_.recipe.reads_text) made.tokens = made.samples;
  made.columns.clear();
  for (size_t column = 0; column < schema.size(); ++column) {
    writers[column]->finish();
    made.columns.push_back(schema[column].name);
  }
  return made;
}

}  // namespace hftrain::data
