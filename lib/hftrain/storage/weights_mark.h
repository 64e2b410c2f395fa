// What tells weights from others of the same shape, without reading them all.
#pragma once

#include <string>

namespace hftrain::storage {

// A hash over names, dtypes, shapes and some bytes from the middle of every tensor of a model folder: the same for a copy of it, another
// one after any training that reached those bytes. Reads a page for each tensor. Empty where ModelWeights opens nothing there.
std::string weights_mark(const std::string& folder);
// The same of the adapter that a folder holds.
std::string adapter_mark(const std::string& folder);

}  // namespace hftrain::storage
