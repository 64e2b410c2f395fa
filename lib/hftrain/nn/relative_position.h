// Relative positions: a learned number per head and bucket of distances, added to the attention's scores
// (Raffel et al. 2020, section 2.1).
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::nn {

struct RelativePositions {
  int64_t buckets = 32;
  int64_t max_distance = 128;  // from here on all distances share the last bucket
  bool bidirectional = true;   // half of the buckets are for keys behind the query, half for those before it

  bool operator==(const RelativePositions&) const = default;
};

// int64 [queries, keys], `past` keys before the first query's own. With r the distance of key and query (0 for later keys unless bidirectional) and n
// the buckets of one direction: r below n/2, else n/2 + int(log(r/(n/2))/log(max_distance/(n/2))·(n/2)), at
// most n − 1, in float32; later keys of a bidirectional attention n more. Those asked for last are kept, but for those with a past;
// nobody may write to them. Any thread.
at::Tensor relative_buckets(int64_t queries, int64_t keys, const RelativePositions& positions,
                            at::Device device, int64_t past = 0);

// table [buckets, H] -> [1, H, queries, keys], the bias of an AttentionMask.
at::Tensor relative_bias(const at::Tensor& table, const at::Tensor& buckets);

}  // namespace hftrain::nn
