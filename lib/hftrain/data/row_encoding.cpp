#include "hftrain/data/row_encoding.h"

#include <optional>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/block_packer.h"
#include "hftrain/data/encode_pool.h"
#include "hftrain/tokenizer/truncation.h"

namespace hftrain::data {
namespace {

// Reads rows of the current group until the chunk is large enough or the group ends. False when no row is
// left.
bool read_chunk(RowSource& rows, size_t chunk_bytes, int64_t& rows_in_group, RowChunk& chunk) {
  while (chunk.records.text_bytes() < chunk_bytes && rows_in_group < kRowsPerGroup) {
    if (!rows.next(chunk.records)) break;
    ++rows_in_group;
  }
  if (rows_in_group == kRowsPerGroup) {
    chunk.ends_group = true;
    rows_in_group = 0;
  }
  chunk.rows = static_cast<int64_t>(chunk.records.rows());
  return chunk.rows > 0;
}

// A row that the tokenizer cannot cut to its length, whichever it is, is too long by the flag.
std::optional<RowChunk> taken(EncodePool& pool, const Recipe& recipe) {
  try {
    return pool.take();
  } catch (tokenizer::CannotTruncate& error) {
    if (!error.diagnostics().front().where.empty()) throw;
    throw error.where(std::string(recipe.length_flag)).hint("a larger " + std::string(recipe.length_flag));
  }
}

}  // namespace

bool encode_rows(RowSource& rows, size_t columns, const Encoder& encoder, const Recipe& recipe,
                 const RowEncoding& how, FeatureSink& sink) {
  EncodePool pool(encoder, how.threads, how.stop);
  int64_t rows_sunk = 0, rows_in_group = 0;
  const auto stopped = [&] { return how.stop != nullptr && how.stop->load(std::memory_order_relaxed); };
  const auto take = [&] {
    const std::optional<RowChunk> chunk = taken(pool, recipe);
    if (!chunk) return false;
    sink.add(chunk->features);
    if (chunk->ends_group) sink.end_group();
    rows_sunk += chunk->rows;
    if (how.sunk) how.sunk(rows_sunk, chunk->ends_group);
    return true;
  };
  while (!sink.full()) {
    if (stopped()) return false;
    RowChunk chunk{.records = Records(columns)};
    if (!read_chunk(rows, how.chunk_bytes, rows_in_group, chunk)) break;
    pool.give(std::move(chunk));
    if (pool.size() >= how.threads * how.chunks_per_thread && !take()) return false;
    if (how.read) how.read();
  }
  while (pool.size() > 0 && !sink.full()) {
    if (stopped() || !take()) return false;
  }
  return true;
}

}  // namespace hftrain::data
