// What a pickle of tensors and plain containers says, as values of ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/storage/dtype.h"

namespace hftrain::interchange {

// A tensor whose numbers lie in the file. `bytes` is row-major and dense, and empty where the file holds the numbers in another
// order (`dense` false).
struct PickledTensor {
  storage::DType dtype = storage::DType::kF32;
  std::vector<int64_t> shape;  // empty: a scalar
  std::string_view bytes;
  bool dense = true;
};

// One value of a document; others are named by their positions in it, because a pickle may name one several times, and even
// a container inside itself: who walks one says how deep.
struct PickledValue {
  enum class Kind { kNone, kBool, kInteger, kFloat, kText, kBytes, kList, kTuple, kDict, kTensor, kRecord };
  Kind kind = Kind::kNone;
  int64_t integer = 0;  // of a bool and an integer; of a tensor its position among the tensors
  double number = 0;    // of a float
  std::string text;     // of a text (UTF-8, unchecked) and of bytes; of a record the name of its type
  std::vector<uint32_t>
      items;  // of containers; a dict's are key, value, key, value, in the order in which they were put in;
              // of a record its arguments, a tuple, and its state when it was given one; none of a bare name
};

// Words for messages: "a dict", "a text".
const char* kind_name(PickledValue::Kind kind);

struct PickledDocument {
  std::string origin;  // for messages
  std::vector<PickledValue> values;
  std::vector<PickledTensor> tensors;
  uint32_t root = 0;
};

}  // namespace hftrain::interchange
