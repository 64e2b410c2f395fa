// The way of rows to samples: read in chunks, encoded by threads, handed to a sink in their order. Preparing a cache and
// reading a stream go it alike, so that both make the same samples.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "hftrain/data/encoder.h"
#include "hftrain/data/feature_sink.h"

namespace hftrain::data {

struct RowEncoding {
  size_t threads = 1;
  size_t chunk_bytes = size_t{256} << 10;   // of text that a thread takes at once; at most a group of rows
  size_t chunks_per_thread = 4;             // read ahead of the sink
  const std::atomic<bool>* stop = nullptr;  // true: nobody wants more
  std::function<void()> read;               // called when a chunk was read
  // Called when the sink has got one: rows so far, and whether a group of them ended with it.
  std::function<void(int64_t rows, bool ends_group)> sunk;
};

// Gives all rows to `sink`, until it is full. False when `stop` became true. The sink is not told of the end.
bool encode_rows(RowSource& rows, size_t columns, const Encoder& encoder, const Recipe& recipe,
                 const RowEncoding& how, FeatureSink& sink);

}  // namespace hftrain::data
