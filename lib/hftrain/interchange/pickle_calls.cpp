#include "hftrain/interchange/pickle_calls.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "hftrain/base/checked_arithmetic.h"
#include "hftrain/base/error.h"
#include "hftrain/base/printable.h"
#include "hftrain/interchange/pickle_reader.h"
#include "hftrain/storage/safetensors_file.h"
#include "hftrain/storage/tensor_size.h"

namespace hftrain::interchange {
namespace {

using Kind = PickledValue::Kind;
using ItemKind = PickleItem::Kind;
using storage::DType;

constexpr const char* kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr const char* kTensorType = "torch.Tensor";

struct StorageType {
  const char* name;
  DType dtype;
};
constexpr std::array kStorageTypes{
    StorageType{"torch.FloatStorage", DType::kF32}, StorageType{"torch.DoubleStorage", DType::kF64},
    StorageType{"torch.HalfStorage", DType::kF16},  StorageType{"torch.BFloat16Storage", DType::kBF16},
    StorageType{"torch.ByteStorage", DType::kU8},   StorageType{"torch.CharStorage", DType::kI8},
    StorageType{"torch.ShortStorage", DType::kI16}, StorageType{"torch.IntStorage", DType::kI32},
    StorageType{"torch.LongStorage", DType::kI64},  StorageType{"torch.BoolStorage", DType::kBool},
};

std::optional<DType> dtype_of_storage(const std::string& name) {
  for (const StorageType& type : kStorageTypes) {
    if (name == type.name) return type.dtype;
  }
  return std::nullopt;
}

const PickledValue& value_at(const PickleState& state, uint32_t position) {
  const PickleItem& item = state.items[position];
  if (item.kind != ItemKind::kValue)
    refuse_pickle(state, "a function or a storage stands where a value is due");
  return item.value;
}

const PickledValue& value_of(const PickleState& state, uint32_t position, Kind kind, const char* what) {
  const PickledValue& value = value_at(state, position);
  if (value.kind != kind)
    refuse_pickle(state, std::string(what) + " is " + kind_name(value.kind) + " and not " + kind_name(kind));
  return value;
}

// Arguments of a call, of which there are `least` to `most`.
const std::vector<uint32_t>& arguments_of(const PickleState& state, uint32_t position, size_t least,
                                          size_t most) {
  const std::vector<uint32_t>& items =
      value_of(state, position, Kind::kTuple, "the arguments of a function").items;
  if (items.size() < least || items.size() > most)
    refuse_pickle(state, "a function has another number of arguments");
  return items;
}

std::vector<int64_t> whole_numbers(const PickleState& state, uint32_t position, const char* what) {
  std::vector<int64_t> numbers;
  for (const uint32_t item : value_of(state, position, Kind::kTuple, what).items) {
    numbers.push_back(value_of(state, item, Kind::kInteger, what).integer);
    if (numbers.back() < 0) refuse_pickle(state, std::string(what) + " has a number below 0");
  }
  return numbers;
}

// Numbers of a storage that a tensor reaches; nothing when that does not fit or it is empty.
std::optional<int64_t> reach_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  std::optional<int64_t> reach = 1;
  for (size_t dim = 0; dim < shape.size() && reach; ++dim) {
    const std::optional<int64_t> step = checked_product(shape[dim] - 1, strides[dim]);
    reach = step ? checked_sum(*reach, *step) : std::nullopt;
  }
  return reach;
}

bool row_major(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t due = 1;  // the shape was checked: its product fits
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] != 1 && strides[dim] != due) return false;
    due *= shape[dim];
  }
  return true;
}

PickledTensor tensor_in(const PickleState& state, const PickleItem& stored, int64_t offset,
                        std::vector<int64_t> shape, const std::vector<int64_t>& strides) {
  if (shape.size() != strides.size() || shape.size() > 64)
    refuse_pickle(state, "a tensor's shape and strides disagree");
  const storage::TensorEntry whole{"", stored.dtype, shape};
  if (!storage::checked_bits(whole)) refuse_pickle(state, "a tensor is too large");
  PickledTensor tensor{stored.dtype, std::move(shape), {}, true};
  if (whole.elements() == 0) return tensor;
  const auto width = static_cast<size_t>(storage::dtype_bits(stored.dtype)) / 8;
  const auto held = static_cast<int64_t>(stored.bytes.size() / width);
  const std::optional<int64_t> reach = reach_of(tensor.shape, strides);
  const std::optional<int64_t> end = reach ? checked_sum(offset, *reach) : std::nullopt;
  if (!end || *end > held) refuse_pickle(state, "a tensor reaches behind the end of its storage");
  tensor.dense = row_major(tensor.shape, strides);
  if (tensor.dense) tensor.bytes = stored.bytes.substr(static_cast<size_t>(offset) * width, whole.bytes());
  return tensor;
}

PickleItem plain(Kind kind) {
  PickleItem item;
  item.value.kind = kind;
  return item;
}

uint32_t keep(PickleState& state, PickleItem item) {
  if (state.items.size() >= kMostPickledValues) refuse_pickle(state, "it makes too many values");
  state.items.push_back(std::move(item));
  return static_cast<uint32_t>(state.items.size() - 1);
}

// torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata])
uint32_t rebuild_tensor(PickleState& state, uint32_t position) {
  const std::vector<uint32_t>& given = arguments_of(state, position, 6, 7);
  const PickleItem& stored = state.items[given[0]];
  if (stored.kind != ItemKind::kStorage) refuse_pickle(state, "a tensor has no storage");
  const int64_t offset = value_of(state, given[1], Kind::kInteger, "a tensor's offset").integer;
  if (offset < 0) refuse_pickle(state, "a tensor's offset is below 0");
  PickledTensor tensor = tensor_in(state, stored, offset, whole_numbers(state, given[2], "a tensor's shape"),
                                   whole_numbers(state, given[3], "a tensor's strides"));
  PickleItem item = plain(Kind::kTensor);
  item.value.integer = static_cast<int64_t>(state.tensors.size());
  state.tensors.push_back(std::move(tensor));
  return keep(state, std::move(item));
}

// torch._utils._rebuild_parameter(tensor, requires_grad, hooks)
uint32_t rebuild_parameter(PickleState& state, uint32_t position) {
  const uint32_t tensor = arguments_of(state, position, 3, 3)[0];
  value_of(state, tensor, Kind::kTensor, "a parameter");
  return tensor;
}

// torch._tensor._rebuild_from_type_v2(torch._utils._rebuild_tensor_v2, torch.Tensor, its arguments, attributes): a tensor that was given
// attributes, which are left.
uint32_t rebuild_with_attributes(PickleState& state, uint32_t position) {
  const std::vector<uint32_t> given = arguments_of(state, position, 4, 4);
  const auto is_named = [&](uint32_t item, const char* name) {
    return state.items[item].kind == ItemKind::kGlobal && state.items[item].name == name;
  };
  if (!is_named(given[0], kRebuildTensor) || !is_named(given[1], kTensorType))
    refuse_pickle(state, "a tensor with attributes is none of torch's own");
  value_of(state, given[3], Kind::kDict, "the attributes of a tensor");
  return rebuild_tensor(state, given[2]);
}

uint32_t ordered_dict(PickleState& state, uint32_t position) {
  arguments_of(state, position, 0, 0);
  return keep(state, plain(Kind::kDict));
}

// _codecs.encode(text, "latin1"): how protocol 2 spells bytes.
uint32_t encoded_bytes(PickleState& state, uint32_t position) {
  const std::vector<uint32_t>& given = arguments_of(state, position, 2, 2);
  const std::string& text = value_of(state, given[0], Kind::kText, "what is encoded").text;
  if (value_of(state, given[1], Kind::kText, "an encoding").text != "latin1")
    refuse_pickle(state, "bytes are encoded in another way than latin1");
  state.made_bytes += text.size();
  if (state.made_bytes > kMostPickleBytes)
    refuse_pickle(state, "its functions make more bytes than a file may have");
  PickleItem item = plain(Kind::kBytes);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      item.value.text += text[i];
      continue;
    }
    const bool two = (first & 0xfe) == 0xc2 && i + 1 < text.size() &&
                     (static_cast<unsigned char>(text[i + 1]) & 0xc0) == 0x80;
    if (!two) refuse_pickle(state, "bytes are spelt with a character that is none of latin1");
    item.value.text += static_cast<char>(((first & 3) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3f));
  }
  return keep(state, std::move(item));
}

// numpy.dtype(letters, align, copy): whole numbers of 32 bits, which the state of numpy's generator is.
uint32_t array_type(PickleState& state, uint32_t position) {
  const uint32_t letters = arguments_of(state, position, 3, 3)[0];
  PickleItem item;
  item.kind = ItemKind::kArrayType;
  item.name = value_of(state, letters, Kind::kText, "a type of numbers").text;
  if (item.name != "u4")
    refuse_pickle(state, "an array of numpy is of the type '" + printable(item.name) + "'");
  return keep(state, std::move(item));
}

// numpy.core.multiarray._reconstruct(numpy.ndarray, (0,), b"b"): an array that BUILD fills.
uint32_t empty_array(PickleState& state, uint32_t position) {
  const PickleItem& type = state.items[arguments_of(state, position, 3, 3)[0]];
  if (type.kind != ItemKind::kGlobal || type.name != "numpy.ndarray")
    refuse_pickle(state, "an array is none of numpy's");
  PickleItem item;
  item.kind = ItemKind::kArray;
  return keep(state, std::move(item));
}

// (version, shape, type, column-major, bytes) makes a list of whole numbers of the array.
void fill_array(PickleState& state, uint32_t target, uint32_t argument) {
  const std::vector<uint32_t> given = arguments_of(state, argument, 5, 5);
  const std::vector<int64_t> shape = whole_numbers(state, given[1], "an array's shape");
  if (state.items[given[2]].kind != ItemKind::kArrayType) refuse_pickle(state, "an array has no type");
  const std::string bytes = value_of(state, given[4], Kind::kBytes, "what an array holds").text;
  if (shape.size() != 1 || bytes.size() % sizeof(uint32_t) != 0 ||
      static_cast<uint64_t>(shape[0]) != bytes.size() / sizeof(uint32_t))
    refuse_pickle(state, "an array's shape and bytes disagree");
  PickleItem list = plain(Kind::kList);
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint32_t)) {
    uint32_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    PickleItem item = plain(Kind::kInteger);
    item.value.integer = number;
    list.value.items.push_back(keep(state, std::move(item)));
  }
  state.items[target] = std::move(list);
}

bool is_record_name(const PickleState& state, const std::string& name) {
  return std::find(state.records.begin(), state.records.end(), name) != state.records.end();
}

struct Function {
  const char* name;
  uint32_t (*call)(PickleState& state, uint32_t arguments);
};
constexpr std::array kFunctions{
    Function{kRebuildTensor, rebuild_tensor},
    Function{"torch._tensor._rebuild_from_type_v2", rebuild_with_attributes},
    Function{"torch._utils._rebuild_parameter", rebuild_parameter},
    Function{"collections.OrderedDict", ordered_dict},
    Function{"_codecs.encode", encoded_bytes},
    Function{"numpy.dtype", array_type},
    Function{"numpy.core.multiarray._reconstruct", empty_array},
    Function{"numpy._core.multiarray._reconstruct", empty_array},
};

}  // namespace

void refuse_pickle(const PickleState& state, const std::string& why) {
  throw Error(ExitCode::kData, "not a file of tensors and plain containers")
      .where(state.origin)
      .why(why + "; nothing of it was executed")
      .hint(
          "use the checkpoint as the Trainer wrote it; --model_name_or_path starts a new run from its "
          "weights alone");
}

PickleItem pickle_global(const PickleState& state, const std::string& name) {
  const bool known =
      is_record_name(state, name) || dtype_of_storage(name) || name == "numpy.ndarray" ||
      name == kTensorType ||
      std::any_of(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return name == f.name; });
  if (!known)
    refuse_pickle(state,
                  "it asks for '" + printable(name) + "', which is neither a tensor nor a plain container");
  PickleItem item;
  item.kind = ItemKind::kGlobal;
  item.name = name;
  return item;
}

PickleItem pickle_storage(const PickleState& state, uint32_t id, const StorageFinder& storages) {
  const std::vector<uint32_t>& given = arguments_of(state, id, 5, 5);
  if (value_of(state, given[0], Kind::kText, "what is kept outside").text != "storage")
    refuse_pickle(state, "something else than a storage is kept outside of it");
  const PickleItem& type = state.items[given[1]];
  const std::optional<DType> dtype =
      type.kind == ItemKind::kGlobal ? dtype_of_storage(type.name) : std::nullopt;
  if (!dtype) refuse_pickle(state, "a storage has no type");
  const std::string& key = value_of(state, given[2], Kind::kText, "the name of a storage").text;
  const int64_t numbers = value_of(state, given[4], Kind::kInteger, "the size of a storage").integer;
  const std::optional<std::string_view> bytes = storages(key);
  if (!bytes) refuse_pickle(state, "the file holds no storage '" + printable(key) + "'");
  const std::optional<int64_t> size = checked_product<int64_t>(numbers, storage::dtype_bits(*dtype) / 8);
  if (!size || *size < 0 || static_cast<uint64_t>(*size) != bytes->size())
    refuse_pickle(state, "storage '" + printable(key) + "' has another size than it is said to have");
  PickleItem item;
  item.kind = ItemKind::kStorage;
  item.dtype = *dtype;
  item.bytes = *bytes;
  return item;
}

bool is_record_type(const PickleState& state, const PickleItem& item) {
  return item.kind == ItemKind::kGlobal && is_record_name(state, item.name);
}

uint32_t make_record(PickleState& state, uint32_t type, uint32_t arguments) {
  if (!is_record_type(state, state.items[type]))
    refuse_pickle(state, "it makes an object of what is no type");
  value_of(state, arguments, Kind::kTuple, "the arguments of a type");
  PickleItem record = plain(Kind::kRecord);
  record.value.text = state.items[type].name;
  record.value.items = {arguments};
  return keep(state, std::move(record));
}

uint32_t call_pickled(PickleState& state, uint32_t function, uint32_t arguments) {
  if (is_record_type(state, state.items[function])) return make_record(state, function, arguments);
  const PickleItem& called = state.items[function];
  if (called.kind == ItemKind::kGlobal) {
    for (const Function& known : kFunctions) {
      if (called.name == known.name) return known.call(state, arguments);
    }
  }
  refuse_pickle(state, "it calls what is no function");
}

void build_pickled(PickleState& state, uint32_t target, uint32_t argument) {
  const PickleItem& item = state.items[target];
  if (item.kind == ItemKind::kArray) return fill_array(state, target, argument);
  // Byte order and the like of a type, which its letters say; attributes of a dict (a state dict's versions).
  if (item.kind == ItemKind::kArrayType) {
    const std::vector<uint32_t>& given = value_of(state, argument, Kind::kTuple, "the state of a type").items;
    const bool little =
        given.size() >= 2 && value_of(state, given[1], Kind::kText, "an order of bytes").text == "<";
    if (!little) refuse_pickle(state, "an array of numpy is not little-endian");
    return;
  }
  if (item.kind == ItemKind::kValue && item.value.kind == Kind::kDict) {
    value_of(state, argument, Kind::kDict, "the attributes of a dict");
    return;
  }
  if (item.kind == ItemKind::kValue && item.value.kind == Kind::kRecord && item.value.items.size() == 1) {
    value_at(state, argument);
    state.items[target].value.items.push_back(argument);
    return;
  }
  refuse_pickle(state, "it changes what has no state");
}

}  // namespace hftrain::interchange
