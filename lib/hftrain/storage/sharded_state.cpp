#include "hftrain/storage/sharded_state.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"

namespace hftrain::storage {
namespace {

constexpr const char* kVersionKey = "DCP_VERSION";
constexpr const char* kVersion = "1.0";
constexpr const char* kSlicesKey = "DCP_SHARDING_INFO";

Error bad_shard(const std::string& path, std::string why) {
  return Error(ExitCode::kData, "not a valid shard of a sharded state").where(path).why(std::move(why));
}

Json read_slices(const SafetensorsFile& file) {
  const auto text = file.metadata().find(kSlicesKey);
  if (text == file.metadata().end()) throw bad_shard(file.path(), std::string("it has no ") + kSlicesKey);
  return parse_json(text->second, file.path() + ": " + kSlicesKey);
}

std::vector<int64_t> read_offsets(const Json& slices, const StoredTensor& tensor, const std::string& path) {
  const std::string& name = tensor.entry.name;
  try {
    auto offsets = slices.at(name).at("saved_offsets").get<std::vector<int64_t>>();
    const bool sound =
        offsets.size() == tensor.entry.shape.size() &&
        std::all_of(offsets.begin(), offsets.end(), [](int64_t offset) { return offset >= 0; });
    if (sound) return offsets;
  } catch (const Json::exception&) {  // same report as below
  }
  throw bad_shard(path, std::string(kSlicesKey) + " gives no offsets for tensor '" + name + "'");
}

// The overlap of two boxes of equal rank, as offsets and sizes; false when it is empty.
struct Box {
  std::vector<int64_t> offsets;
  std::vector<int64_t> sizes;
  bool operator==(const Box&) const = default;
};

bool overlap(const Box& a, const Box& b, Box& common) {
  common = a;
  for (size_t dim = 0; dim < a.sizes.size(); ++dim) {
    const int64_t begin = std::max(a.offsets[dim], b.offsets[dim]);
    const int64_t end = std::min(a.offsets[dim] + a.sizes[dim], b.offsets[dim] + b.sizes[dim]);
    if (end <= begin) return false;
    common.offsets[dim] = begin;
    common.sizes[dim] = end - begin;
  }
  return true;
}

uint64_t volume(const Box& box) {
  return std::accumulate(box.sizes.begin(), box.sizes.end(), uint64_t{1}, [](uint64_t product, int64_t size) {
    return product * static_cast<uint64_t>(size);
  });
}

// Elements before `place` in a dense row-major box.
uint64_t position(const Box& box, const std::vector<int64_t>& place) {
  uint64_t index = 0;
  for (size_t dim = 0; dim < box.sizes.size(); ++dim) {
    index =
        index * static_cast<uint64_t>(box.sizes[dim]) + static_cast<uint64_t>(place[dim] - box.offsets[dim]);
  }
  return index;
}

// Ranks of a replicated run may have saved the same slice each: equal boxes count once.
bool holds(const std::vector<Box>& boxes, const Box& box) {
  return std::find(boxes.begin(), boxes.end(), box) != boxes.end();
}

void refuse_partial_overlap(const std::vector<Box>& boxes, const Box& box, const std::string& name,
                            const std::string& folder) {
  for (const Box& other : boxes) {
    Box common;
    if (!overlap(box, other, common)) continue;
    throw Error(ExitCode::kData, "slices of tensor '" + name + "' overlap in part").where(folder);
  }
}

// Copies the common part of two dense row-major boxes, run by run along the last dim.
void copy_box(const Box& common, const Box& from, const char* source, const Box& to, char* target,
              uint64_t width) {
  const size_t rank = common.sizes.size();
  const uint64_t run = (rank == 0 ? 1 : static_cast<uint64_t>(common.sizes.back())) * width;
  std::vector<int64_t> place = common.offsets;
  while (true) {
    std::memcpy(target + position(to, place) * width, source + position(from, place) * width, run);
    size_t dim = rank < 2 ? 0 : rank - 1;
    while (dim > 0) {  // the next row, as an odometer without its last wheel
      --dim;
      if (++place[dim] < common.offsets[dim] + common.sizes[dim]) break;
      place[dim] = common.offsets[dim];
      if (dim == 0) return;
    }
    if (rank < 2) return;
  }
}

}  // namespace

std::string shard_file_name(int rank, int piece, int pieces) {
  char name[80];
  std::snprintf(name, sizeof name, "shard-%05d-model-%05d-of-%05d.safetensors", rank + 1, piece + 1, pieces);
  return name;
}

SafetensorsMetadata sharding_metadata(const std::vector<TensorSlice>& slices) {
  Json places = Json::object();
  for (const TensorSlice& slice : slices) places[slice.entry.name] = {{"saved_offsets", slice.offsets}};
  SafetensorsMetadata metadata = pt_metadata();
  metadata[kVersionKey] = kVersion;
  metadata[kSlicesKey] = places.dump();
  return metadata;
}

ShardedState::ShardedState(const std::string& folder) : folder_(folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    if (item->path().extension() == ".safetensors") paths.push_back(item->path().string());
  }
  if (error) throw system_error(error.value(), "cannot list", folder, ExitCode::kData);
  std::sort(paths.begin(), paths.end());
  files_.reserve(paths.size());
  for (const std::string& path : paths) files_.emplace_back(path);
  for (const SafetensorsFile& file : files_) add_file(file);
}

void ShardedState::add_file(const SafetensorsFile& file) {
  const Json places = read_slices(file);
  for (const StoredTensor& stored : file.tensors()) {
    std::vector<int64_t> offsets = read_offsets(places, stored, file.path());
    const std::string& name = stored.entry.name;
    Tensor& tensor = tensors_[name];
    if (tensor.slices.empty()) {
      tensor.dtype = stored.entry.dtype;
      tensor.shape.assign(offsets.size(), 0);
    }
    if (tensor.dtype != stored.entry.dtype || tensor.shape.size() != offsets.size()) {
      throw bad_shard(file.path(), "tensor '" + name + "' has another dtype or rank than in another shard");
    }
    for (size_t dim = 0; dim < offsets.size(); ++dim) {
      tensor.shape[dim] = std::max(tensor.shape[dim], offsets[dim] + stored.entry.shape[dim]);
    }
    tensor.slices.push_back({std::move(offsets), &stored});
  }
}

void ShardedState::read(std::string_view name, const std::vector<int64_t>& offsets,
                        const std::vector<int64_t>& shape, std::span<char> out) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw Error(ExitCode::kData, "the sharded state has no tensor '" + std::string(name) + "'")
        .where(folder_);
  }
  const Tensor& tensor = found->second;
  const Box wanted{offsets, shape};
  const uint64_t width = static_cast<uint64_t>(dtype_bits(tensor.dtype)) / 8;
  if (shape.size() != tensor.shape.size() || offsets.size() != shape.size() ||
      out.size() != volume(wanted) * width) {
    throw Error(ExitCode::kInternal,
                "a read of '" + std::string(name) + "' has another rank or size than asked")
        .where(folder_);
  }
  std::vector<Box> seen;
  uint64_t covered = 0;
  for (const Slice& slice : tensor.slices) {
    const Box have{slice.offsets, slice.tensor->entry.shape};
    Box common;
    if (!overlap(wanted, have, common) || holds(seen, have)) continue;
    refuse_partial_overlap(seen, have, slice.tensor->entry.name, folder_);
    copy_box(common, have, slice.tensor->bytes.data(), wanted, out.data(), width);
    covered += volume(common);
    seen.push_back(have);
  }
  if (covered != volume(wanted)) {
    throw Error(ExitCode::kData, "tensor '" + std::string(name) + "' of the sharded state is not whole")
        .where(folder_)
        .why("the shards hold " + std::to_string(covered) + " of the " + std::to_string(volume(wanted)) +
             " numbers asked for");
  }
}

}  // namespace hftrain::storage
