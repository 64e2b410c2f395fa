// The functions that a pickle of tensors and plain containers calls, answered without calling anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/interchange/pickle_reader.h"

namespace hftrain::interchange {

// What a pickle's stack holds besides values: names of functions, and what only they take or give.
struct PickleItem {
  enum class Kind { kValue, kGlobal, kStorage, kArrayType, kArray };
  PickledValue value;
  Kind kind = Kind::kValue;
  std::string name;        // of a global ("collections.OrderedDict"); of an array type its letters ("u4")
  std::string_view bytes;  // of a storage
  storage::DType dtype = storage::DType::kF32;  // of a storage
};

// What is being built of one pickle.
struct PickleState {
  std::string origin;   // for messages
  RecordNames records;  // types that it may name
  std::vector<PickleItem> items;
  std::vector<PickledTensor> tensors;
  size_t made_bytes = 0;  // by functions, beside what stands in the file
};

// The Error for what is no pickle of tensors and plain containers.
[[noreturn]] void refuse_pickle(const PickleState& state, const std::string& why);

// The global `name`: a function or a type that some pickle of the Trainer's names. Every other is refused by its name.
PickleItem pickle_global(const PickleState& state, const std::string& name);
// The storage that a persistent id names: ("storage", type, key, place, numbers).
PickleItem pickle_storage(const PickleState& state, uint32_t id, const StorageFinder& storages);
// function(*arguments). Gives the position of the result.
uint32_t call_pickled(PickleState& state, uint32_t function, uint32_t arguments);
// type.__new__(type, *arguments), of a record's type alone. Gives the position of the record.
uint32_t make_record(PickleState& state, uint32_t type, uint32_t arguments);
// The global at `position` is the type of a record.
bool is_record_type(const PickleState& state, const PickleItem& item);
// What BUILD does: gives `target` the state `argument`.
void build_pickled(PickleState& state, uint32_t target, uint32_t argument);

}  // namespace hftrain::interchange
