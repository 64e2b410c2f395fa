// How samples become the tensors of a batch: their shapes first, then their numbers in memory that the caller
// owns, so that a loader fills (pinned) tensors without a copy.
//
// A collator is a pure function of samples, seed and epoch, so a resumed run gets the same batches. It knows
// no tensors and is run by the threads of a loader.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hftrain/data/dataset.h"

namespace hftrain::data {

enum class TensorType { kInt64, kFloat32 };

struct TensorShape {
  std::string name;  // as models take it: input_ids, labels, …
  TensorType type = TensorType::kInt64;
  std::vector<int64_t> sizes;
  std::optional<size_t> same_as = std::nullopt;  // the tensor of that number under another name; not filled
};

// What a collator draws at random for a sample depends on this and the sample's number alone: neither on its
// batch nor on the rank.
struct DrawKey {
  uint64_t seed = 0;  // of the data order
  int64_t epoch = 0;

  bool operator==(const DrawKey&) const = default;
};

// Immutable; any number of threads use one.
class Collator {
 public:
  virtual ~Collator() = default;
  virtual std::vector<TensorShape> shapes(const Dataset& dataset, std::span<const int64_t> samples) const = 0;
  // memory[i]: room for the contiguous numbers of shapes()[i]; null where it is the same as another.
  virtual void fill(const Dataset& dataset, std::span<const int64_t> samples, const DrawKey& key,
                    std::span<void* const> memory) const = 0;
};

// Blocks of one length; labels are the same tensor. Another length is an Error (exit code 4).
std::unique_ptr<Collator> block_collator();

// How one column of rows of different lengths becomes a tensor.
struct PaddedColumn {
  enum class Form {
    kSequence,  // [B, T]: filled up with `pad` behind it
    kMask,      // [B, T]: 1 for each number of the column, 0 for the rest
    kScalar,    // [B]: the one number of each row
    kVector,    // [B, N]: rows have N numbers
    kPlace,  // [B]: the number of a token of input_ids, moved by the padding before it; below 0: the row's first place
  };
  std::string tensor;
  std::string column;
  Form form = Form::kSequence;
  int64_t pad = 0;
  bool own_length = false;  // of kSequence and kMask: T is that of its own longest sequence of the batch
};

struct PaddingOptions {
  std::vector<PaddedColumn> columns;
  int64_t length = 0;    // T; 0: of the longest sequence of the batch
  int64_t multiple = 1;  // T is rounded up to a multiple of this
  bool on_left = false;  // `pad` and 0 come before a sequence
};

// masking.h says what is done.
struct MaskingOptions {
  double probability = 0.15;
  int64_t mask_id = 0;
  int64_t vocabulary = 1;  // random tokens are of 0 to below this
  bool whole_words = false;
};

// Tensors of whole numbers are int64, of floats float32. A sequence longer than `length`, a row of another
// number of numbers than its form allows: Error (exit code 4).
std::unique_ptr<Collator> padding_collator(PaddingOptions options);

}  // namespace hftrain::data
