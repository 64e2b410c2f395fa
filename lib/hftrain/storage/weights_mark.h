// What tells weights from others of the same shape, without reading them all.
#pragma once

#include <map>
#include <string>

namespace hftrain::storage {

// A hash over names, dtypes, shapes and some bytes from the middle of every tensor of a model folder: the same for a copy of it, another
// one after any training that reached those bytes. Reads a page for each tensor. Empty where ModelWeights opens nothing there.
std::string weights_mark(const std::string& folder);
// The same of the adapter that a folder holds.
std::string adapter_mark(const std::string& folder);

// By its name in the folder, what tells each file that ModelWeights opens there from another of its name: a hash over its size, its
// first bytes, some bytes from the middle of every tensor, and blocks from all over it; of a file of some MiB over all of it. Reads at
// most 4 MiB of a file and a page for each tensor. Empty where there is nothing to open.
std::map<std::string, std::string> weight_files(const std::string& folder);
// The same of the adapter that a folder holds.
std::map<std::string, std::string> adapter_files(const std::string& folder);

}  // namespace hftrain::storage
