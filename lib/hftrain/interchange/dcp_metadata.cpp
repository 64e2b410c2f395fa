#include "hftrain/interchange/dcp_metadata.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "hftrain/base/checked_arithmetic.h"
#include "hftrain/base/error.h"
#include "hftrain/base/printable.h"
#include "hftrain/interchange/pickle_reader.h"
#include "hftrain/interchange/torch_file.h"
#include "hftrain/storage/tensor_size.h"

namespace hftrain::interchange {
namespace {

using storage::DType;
using Kind = TorchValue::Kind;

#define HFTRAIN_DCP "torch.distributed.checkpoint.metadata."
constexpr std::string_view kTensorRecord = HFTRAIN_DCP "TensorStorageMetadata";
constexpr std::string_view kBytesRecord = HFTRAIN_DCP "BytesStorageMetadata";
constexpr std::string_view kSizeRecord = "torch.Size";

struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array kTypeNames{
    TypeName{"torch.float32", DType::kF32}, TypeName{"torch.float64", DType::kF64},
    TypeName{"torch.float16", DType::kF16}, TypeName{"torch.bfloat16", DType::kBF16},
    TypeName{"torch.uint8", DType::kU8},    TypeName{"torch.int8", DType::kI8},
    TypeName{"torch.int16", DType::kI16},   TypeName{"torch.int32", DType::kI32},
    TypeName{"torch.int64", DType::kI64},   TypeName{"torch.bool", DType::kBool},
};

// What releases of torch since 2.0 write, and the types of numbers above.
constexpr std::array<std::string_view, 25> kDcpRecords{
    HFTRAIN_DCP "Metadata",
    kTensorRecord,
    kBytesRecord,
    HFTRAIN_DCP "ChunkStorageMetadata",
    HFTRAIN_DCP "TensorProperties",
    HFTRAIN_DCP "MetadataIndex",
    HFTRAIN_DCP "StorageMeta",
    HFTRAIN_DCP "_MEM_FORMAT_ENCODING",
    "torch.distributed.checkpoint.filesystem._StorageInfo",
    "torch.distributed._shard.sharded_tensor.metadata.TensorProperties",
    "torch.distributed._shard.sharded_tensor.metadata.MEM_FORMAT_ENCODING",
    kSizeRecord,
    "torch.serialization._get_layout",
    "pathlib.PosixPath",
    "pathlib._local.PosixPath",
    kTypeNames[0].name,
    kTypeNames[1].name,
    kTypeNames[2].name,
    kTypeNames[3].name,
    kTypeNames[4].name,
    kTypeNames[5].name,
    kTypeNames[6].name,
    kTypeNames[7].name,
    kTypeNames[8].name,
    kTypeNames[9].name,
};
#undef HFTRAIN_DCP

// A pickle may name one value a million times: what is walked for each is bounded.
constexpr size_t kMostDims = 64, kLongestName = 4096, kMostChunksOfTensor = 4096,
                 kMostChunks = size_t{1} << 20, kMostFields = 32,
                 kMostCompared = size_t{1} << 21;  // pairs of pieces of a tensor

class MetadataReader {
 public:
  MetadataReader(std::string_view bytes, const std::string& origin)
      : document_(read_pickle(
            bytes, origin, [](const std::string&) { return std::optional<std::string_view>(); },
            kDcpRecords)) {}

  std::vector<DcpTensor> read() {
    const TorchValue root(document_, document_.root);
    read_places(field(root, "storage_data", "the metadata"));
    const TorchValue saved = field(root, "state_dict_metadata", "the metadata");
    if (saved.count("state_dict_metadata") > kMostChunks) refuse("it has more than a million values");
    std::vector<DcpTensor> tensors;
    std::set<std::string_view> names;
    for (const auto& [name, what] : saved.pairs("state_dict_metadata")) {
      if (what.type() == kBytesRecord) continue;
      if (what.type() != kTensorRecord) refuse("what it saved is neither a tensor nor bytes");
      if (!names.insert(name_of(name)).second)
        refuse("it has two tensors '" + printable(name_of(name)) + "'");
      tensors.push_back(read_tensor(name_of(name), what));
    }
    std::sort(tensors.begin(), tensors.end(),
              [](const DcpTensor& a, const DcpTensor& b) { return a.name < b.name; });
    return tensors;
  }

 private:
  using Key = std::pair<std::string_view, std::vector<int64_t>>;
  struct Place {
    std::string_view file;
    uint64_t offset = 0, length = 0;
  };

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ExitCode::kData, "not the metadata of a sharded checkpoint")
        .where(document_.origin)
        .why(why)
        .hint(
            "copy the checkpoint again, or use another one; --model_name_or_path starts a new run from "
            "weights that were saved whole");
  }

  std::optional<TorchValue> find_field(const TorchValue& record, std::string_view name,
                                       const char* what) const {
    const TorchValue state = record.state(what);
    if (state.count(what) > kMostFields) refuse(std::string(what) + " has too many fields");
    return state.find(name);
  }

  TorchValue field(const TorchValue& record, const char* name, const char* what) const {
    const std::optional<TorchValue> found = find_field(record, name, what);
    if (!found) refuse(std::string(what) + " has no '" + name + "'");
    return *found;
  }

  const std::string& name_of(const TorchValue& value) const {
    const std::string& name = value.text("the name of a tensor");
    if (name.size() > kLongestName) refuse("a name has more than 4096 bytes");
    return name;
  }

  // torch.Size((…)), a tuple or a list.
  std::vector<int64_t> sizes_of(const TorchValue& value, const char* what) const {
    TorchValue items = value;
    if (value.kind() == Kind::kRecord) {
      const TorchValue arguments = value.arguments(what);
      if (value.type() != kSizeRecord || arguments.count(what) != 1)
        refuse(std::string(what) + " is no size");
      items = arguments.items(what).front();
    }
    if (items.count(what) > kMostDims) refuse(std::string(what) + " has more than 64 dims");
    std::vector<int64_t> sizes;
    for (const TorchValue& item : items.items(what)) {
      sizes.push_back(item.integer(what));
      if (sizes.back() < 0) refuse(std::string(what) + " has a number below 0");
    }
    return sizes;
  }

  uint64_t bytes_of(const TorchValue& value, const char* what) const {
    const int64_t bytes = value.integer(what);
    if (bytes < 0) refuse(std::string(what) + " is below 0");
    return static_cast<uint64_t>(bytes);
  }

  void read_places(const TorchValue& all) {
    if (all.count("storage_data") > kMostChunks) refuse("it has more than a million pieces");
    for (const auto& [index, info] : all.pairs("storage_data")) {
      const std::string& name = name_of(field(index, "fqn", "an index"));
      const std::optional<TorchValue> offset = find_field(index, "offset", "an index");
      if (!offset || offset->kind() == Kind::kNone) continue;  // bytes
      const std::optional<TorchValue> transforms = find_field(info, "transform_descriptors", "a place");
      if (transforms && transforms->kind() != Kind::kNone && transforms->count("transforms") > 0)
        refuse("'" + printable(name) + "' is stored transformed (compressed, for example)");
      const Place place{file_of(field(info, "relative_path", "a place")),
                        bytes_of(field(info, "offset", "a place"), "an offset"),
                        bytes_of(field(info, "length", "a place"), "a length")};
      if (!places_.emplace(Key{name, sizes_of(*offset, "an offset")}, place).second)
        refuse("it has a piece of '" + printable(name) + "' twice");
    }
  }

  // Nothing outside of the folder is opened.
  std::string_view file_of(const TorchValue& value) const {
    const std::string& name = value.text("the name of a file");
    if (!name.ends_with(".distcp") || name.size() > 255 ||
        name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
      refuse("'" + printable(name.substr(0, 255)) + "' is no file of a rank");
    return name;
  }

  DType dtype_of(const TorchValue& properties) const {
    const char* const what = "the properties of a tensor";
    const TorchValue state = properties.state(what);
    if (state.count(what) > kMostFields) refuse(std::string(what) + " are too many");
    const std::vector<TorchValue> items = state.items(what);
    const std::string type = items.empty() ? "" : items.front().type();
    for (const TypeName& known : kTypeNames) {
      if (type == known.name) return known.dtype;
    }
    refuse("a tensor has no type of numbers that is known here");
  }

  DcpTensor read_tensor(const std::string& name, const TorchValue& what) {
    DcpTensor tensor{name,
                     dtype_of(field(what, "properties", "a tensor")),
                     sizes_of(field(what, "size", "a tensor"), "a size"),
                     {}};
    const std::string quoted = "'" + printable(name) + "'";
    if (!storage::checked_bits({"", tensor.dtype, tensor.shape})) refuse(quoted + " is too large");
    const TorchValue chunks = field(what, "chunks", "a tensor");
    const size_t count = chunks.count("chunks");
    chunks_ += count;
    if (count > kMostChunksOfTensor || chunks_ > kMostChunks) refuse(quoted + " is in too many pieces");
    for (const TorchValue& chunk : chunks.items("chunks")) {
      storage::Box box{sizes_of(field(chunk, "offsets", "a piece"), "an offset"),
                       sizes_of(field(chunk, "sizes", "a piece"), "a size")};
      if (!lies_in(box, tensor.shape)) refuse("a piece of " + quoted + " reaches out of it");
      if (storage::volume(box) == 0) continue;
      const auto place = places_.find(Key{name, box.offsets});
      if (place == places_.end()) refuse("a piece of " + quoted + " is in no file");
      tensor.chunks.push_back(
          {std::move(box), std::string(place->second.file), place->second.offset, place->second.length});
    }
    check_whole(tensor, quoted);
    return tensor;
  }

  static bool lies_in(const storage::Box& box, const std::vector<int64_t>& shape) {
    if (box.offsets.size() != shape.size() || box.sizes.size() != shape.size()) return false;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      const std::optional<int64_t> end = checked_sum(box.offsets[dim], box.sizes[dim]);
      if (!end || *end > shape[dim]) return false;
    }
    return true;
  }

  // Beginning and end of a piece in the dim that most of them begin apart in: along it a tensor was cut.
  static std::pair<int64_t, int64_t> ends(const storage::Box& box, size_t dim) {
    if (box.offsets.empty()) return {0, 1};
    return {box.offsets[dim], box.offsets[dim] + box.sizes[dim]};
  }
  static size_t dim_of_cuts(const DcpTensor& tensor) {
    size_t dim = 0, most = 0;
    for (size_t candidate = 0; candidate < tensor.shape.size(); ++candidate) {
      std::set<int64_t> begins;
      for (const DcpChunk& chunk : tensor.chunks) begins.insert(chunk.box.offsets[candidate]);
      if (begins.size() > most) dim = candidate, most = begins.size();
    }
    return dim;
  }

  // Of boxes that hold numbers. As storage::overlap, which makes the box that they share.
  static bool apart(const storage::Box& a, const storage::Box& b) {
    for (size_t dim = 0; dim < a.offsets.size(); ++dim) {
      if (ends(a, dim).second <= ends(b, dim).first || ends(b, dim).second <= ends(a, dim).first) return true;
    }
    return false;
  }

  // In the order of their beginnings, so that a piece is compared with those alone that begin before it ends.
  void check_apart(const DcpTensor& tensor, const std::string& quoted) const {
    const size_t dim = dim_of_cuts(tensor);
    std::vector<const storage::Box*> boxes;
    for (const DcpChunk& chunk : tensor.chunks) boxes.push_back(&chunk.box);
    std::sort(boxes.begin(), boxes.end(), [&](const storage::Box* a, const storage::Box* b) {
      return ends(*a, dim).first < ends(*b, dim).first;
    });
    size_t compared = 0;
    for (size_t i = 0; i < boxes.size(); ++i) {
      const int64_t end = ends(*boxes[i], dim).second;
      for (size_t next = i + 1; next < boxes.size() && ends(*boxes[next], dim).first < end; ++next) {
        if (++compared > kMostCompared) refuse(quoted + " is in too many pieces side by side");
        if (!apart(*boxes[i], *boxes[next])) refuse("pieces of " + quoted + " overlap");
      }
    }
  }

  void check_whole(const DcpTensor& tensor, const std::string& quoted) const {
    check_apart(tensor, quoted);
    const uint64_t whole = storage::TensorEntry{"", tensor.dtype, tensor.shape}.elements();
    uint64_t held = 0;  // of pieces that lie in it and do not overlap: at most the whole
    for (const DcpChunk& chunk : tensor.chunks) held += storage::volume(chunk.box);
    if (held != whole)
      refuse("its pieces hold " + std::to_string(held) + " of the " + std::to_string(whole) + " numbers of " +
             quoted);
  }

  PickledDocument document_;
  std::map<Key, Place> places_;
  size_t chunks_ = 0;
};

}  // namespace

std::vector<DcpTensor> read_dcp_metadata(std::string_view bytes, const std::string& origin) {
  return MetadataReader(bytes, origin).read();
}

}  // namespace hftrain::interchange
