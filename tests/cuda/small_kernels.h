// Kernels of a few lines, right ones and wrong ones, to see what the grid says of each.
#pragma once

#include <cstdint>

namespace hftrain::grid {

enum class Small {
  kSum,                  // of a block's threads, into out[block]: right
  kNeighbours,           // four times what the next thread has, of one block: right
  kReadTooEarly,         // shared memory while others write it
  kWrittenTooEarly,      // and again while others still read it
  kUnwritten,            // shared memory that nobody wrote
  kBehindShared,         // writes one element behind a __shared__ array, if a block has 64 threads
  kBarrierOfHalf,        // a barrier in a branch that half of the block takes
  kBarrierAfterReturn,   // and behind the end of half of it
  kTwoBarriers,          // each in a branch of its own
  kShuffleOfHalf,        // a shuffle in a branch that half of a warp takes
  kShuffleBesideMask,    // one that asks lanes outside of its mask
  kReadsBehind,          // in[n]
  kReadsBefore,          // in[-1]
  kReadsBesideVectors,   // 16 bytes from the second element on
  kWritesBehind,         // out[blocks·threads]
  kSameElement,          // all threads write out[0]
  kLastWrites,           // the last thread writes out[0], which all read
  kBlocksShareElement,   // the first thread of each block writes out[0]
  kReadsWhatOtherWrote,  // of another block, in the same launch
};
// in and out [blocks·threads].
void run_small(Small which, const float* in, float* out, int64_t blocks, int threads);

}  // namespace hftrain::grid
