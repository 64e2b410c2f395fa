#include "hftrain/storage/sharded_state.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>

#include "hftrain/base/checked_arithmetic.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/json_member.h"
#include "hftrain/storage/tensor_size.h"

namespace hftrain::storage {
namespace {

constexpr const char* kVersionKey = "DCP_VERSION";
constexpr const char* kDcpVersion = "1.0";
constexpr const char* kSlicesKey = "DCP_SHARDING_INFO";

constexpr const char* kAnother = "name another checkpoint; resuming takes the newest that verifies";

Error bad_shard(const std::string& path, std::string why) {
  return Error(ExitCode::kData, "not a valid shard of a sharded state")
      .where(path)
      .why(std::move(why))
      .hint(kAnother);
}

Json read_slices(const SafetensorsFile& file) {
  const auto text = file.metadata().find(kSlicesKey);
  if (text == file.metadata().end()) throw bad_shard(file.path(), std::string("it has no ") + kSlicesKey);
  return parse_json(text->second, file.path() + ": " + kSlicesKey);
}

bool is_offset(const Json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= std::numeric_limits<int64_t>::max();
}

std::vector<int64_t> read_offsets(const Json& slices, const StoredTensor& tensor, const std::string& path) {
  const std::string& name = tensor.entry.name;
  const Json offsets = json_member(json_member(slices, name), "saved_offsets");
  const bool sound = offsets.is_array() && offsets.size() == tensor.entry.shape.size() &&
                     std::all_of(offsets.begin(), offsets.end(), is_offset);
  if (sound) return offsets.get<std::vector<int64_t>>();
  throw bad_shard(path, std::string(kSlicesKey) + " gives no offsets for tensor '" + name + "'");
}

// The slices say how large the whole is. What they claim must be there: nobody may be made to provide memory
// for numbers that no file holds.
void check_whole(const SlicedTensor& tensor, const std::string& folder) {
  const TensorEntry whole{tensor.name, tensor.dtype, tensor.shape};
  if (!checked_bits(whole)) throw bad_shard(folder, "tensor '" + tensor.name + "' is too large");
  uint64_t stored = 0;  // cannot pass the bytes of the files
  for (const SlicedTensor::Slice& slice : tensor.slices) stored += volume(slice.box);
  if (stored >= whole.elements()) return;
  throw Error(ExitCode::kData, "tensor '" + tensor.name + "' of the sharded state is not whole")
      .where(folder)
      .why("the shards hold " + std::to_string(stored) + " of its " + std::to_string(whole.elements()) +
           " numbers")
      .hint("a shard is missing or damaged: use another checkpoint of the run");
}

// Ranks of a replicated run may have saved the same slice each: equal boxes count once.
bool holds(const std::vector<Box>& boxes, const Box& box) {
  return std::find(boxes.begin(), boxes.end(), box) != boxes.end();
}

void refuse_partial_overlap(const std::vector<Box>& boxes, const Box& box, const std::string& name,
                            const std::string& folder) {
  for (const Box& other : boxes) {
    if (!overlap(box, other)) continue;
    throw Error(ExitCode::kData, "slices of tensor '" + name + "' overlap in part")
        .where(folder)
        .why("each number of a tensor lies in one shard, or whole slices in several")
        .hint(kAnother);
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
  metadata[kVersionKey] = kDcpVersion;
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
  for (const auto& [name, tensor] : tensors_) check_whole(tensor, folder);
}

void ShardedState::add_file(const SafetensorsFile& file) {
  const Json places = read_slices(file);
  for (const StoredTensor& stored : file.tensors()) {
    std::vector<int64_t> offsets = read_offsets(places, stored, file.path());
    const std::string& name = stored.entry.name;
    SlicedTensor& tensor = tensors_[name];
    if (tensor.slices.empty()) {
      tensor.name = name;
      tensor.dtype = stored.entry.dtype;
      tensor.shape.assign(offsets.size(), 0);
    }
    if (tensor.dtype != stored.entry.dtype || tensor.shape.size() != offsets.size()) {
      throw bad_shard(file.path(), "tensor '" + name + "' has another dtype or rank than in another shard");
    }
    for (size_t dim = 0; dim < offsets.size(); ++dim) {
      const std::optional<int64_t> end = checked_sum(offsets[dim], stored.entry.shape[dim]);
      if (!end) throw bad_shard(file.path(), "tensor '" + name + "' is too large");
      tensor.shape[dim] = std::max(tensor.shape[dim], *end);
    }
    tensor.slices.push_back({{std::move(offsets), stored.entry.shape}, &stored});
  }
}

void ShardedState::read(std::string_view name, const Box& wanted, std::span<char> out) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw Error(ExitCode::kData, "the sharded state has no tensor '" + std::string(name) + "'")
        .where(folder_)
        .why("none of its shards holds a slice of it")
        .hint(kAnother);
  }
  read_box(found->second, wanted, out, folder_);
}

void read_box(const SlicedTensor& tensor, const Box& wanted, std::span<char> out, const std::string& folder) {
  const uint64_t width = static_cast<uint64_t>(dtype_bits(tensor.dtype)) / 8;
  if (width == 0) {
    throw Error(ExitCode::kData, "tensor '" + tensor.name + "' has less than one byte per number")
        .where(folder)
        .why(std::string("tensors of type ") + dtype_name(tensor.dtype) + " cannot be read")
        .hint(kAnother);
  }
  if (wanted.sizes.size() != tensor.shape.size() || wanted.offsets.size() != wanted.sizes.size() ||
      out.size() != volume(wanted) * width) {
    throw Error(ExitCode::kInternal, "a read of '" + tensor.name + "' has another rank or size than asked")
        .where(folder);
  }
  std::vector<Box> seen;
  uint64_t covered = 0;
  for (const SlicedTensor::Slice& slice : tensor.slices) {
    const std::optional<Box> common = overlap(wanted, slice.box);
    if (!common || holds(seen, slice.box)) continue;
    refuse_partial_overlap(seen, slice.box, tensor.name, folder);
    copy_mapped_box(*common, slice.box, slice.stored->bytes.data(), wanted, out.data(), width);
    release_mapped(slice.stored->bytes);  // the kernel maps pages around those that were asked for
    covered += volume(*common);
    seen.push_back(slice.box);
  }
  if (covered != volume(wanted)) {
    throw Error(ExitCode::kData, "tensor '" + tensor.name + "' of the sharded state is not whole")
        .where(folder)
        .why("the shards hold " + std::to_string(covered) + " of the " + std::to_string(volume(wanted)) +
             " numbers asked for")
        .hint(kAnother);
  }
}

}  // namespace hftrain::storage
