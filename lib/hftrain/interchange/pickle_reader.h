// Reader of pickles that hold tensors and plain containers and nothing else: what torch.save makes of the state of an optimizer, a
// schedule, random numbers. A pickle is a program for a stack machine that may call anything; of its instructions
// this one knows those that build values, and of the functions a fixed few, which it answers itself (pickle_calls.h).
// Whatever else is asked for is refused by its name, and nothing is ever executed or imported.
// Instructions: https://github.com/python/cpython/blob/3.11/Lib/pickletools.py
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hftrain/interchange/pickle_value.h"

namespace hftrain::interchange {

// The bytes of a storage by its key, or nothing when the file has none of it.
using StorageFinder = std::function<std::optional<std::string_view>(const std::string& key)>;

// Types whose objects are read as records: what they are called, what they were made of, and their state. Nothing of them is known
// or done but that.
using RecordNames = std::span<const std::string_view>;

// A pickle may be this large and make as many values and nest this deep; the state of a model with 100,000 tensors is within a
// tenth of each.
inline constexpr size_t kMostPickleBytes = size_t{64} << 20;
inline constexpr size_t kMostPickledValues = size_t{4} << 20;
inline constexpr size_t kMostOpenContainers = 64;

// Error(kData) naming `origin` for anything that is not such a pickle. The tensors' bytes are those that `storages` gave.
PickledDocument read_pickle(std::string_view bytes, const std::string& origin, const StorageFinder& storages,
                            RecordNames records = {});

}  // namespace hftrain::interchange
