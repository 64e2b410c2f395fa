#include "hftrain/data/parquet/values.h"

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/float16.h>

#include <limits>

namespace hftrain::data {
namespace {

using arrow::Type;

template <typename ArrayType>
auto element(const arrow::Array& array, int64_t index) {
  return static_cast<const ArrayType&>(array).Value(index);
}

template <typename ArrayType>
std::string_view text_of(const arrow::Array& array, int64_t index) {
  return static_cast<const ArrayType&>(array).GetView(index);
}

template <typename ArrayType>
void copy_list(const arrow::Array& array, int64_t index, size_t slot, ValueSlots& slots) {
  const auto& list = static_cast<const ArrayType&>(array);
  const int64_t begin = list.value_offset(index), size = list.value_length(index);
  const size_t first = slots.set_list(slot, static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i)
    copy_value(*list.values(), begin + i, first + static_cast<size_t>(i), slots);
}

void copy_object(const arrow::StructArray& object, int64_t index, size_t slot, ValueSlots& slots) {
  std::vector<int> fields;
  for (int field = 0; field < object.num_fields(); ++field) {
    if (!object.field(field)->IsNull(index)) fields.push_back(field);
  }
  size_t next = slots.set_object(slot, fields.size());
  for (const int field : fields) {
    slots.set_text(next++, object.type()->field(field)->name());
    copy_value(*object.field(field), index, next++, slots);
  }
}

void copy_unsigned(uint64_t value, size_t slot, ValueSlots& slots) {
  if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    slots.set_integer(slot, static_cast<int64_t>(value));
  } else {
    slots.set_number(slot, static_cast<double>(value));
  }
}

// False when `array` holds no numbers.
bool copy_number(const arrow::Array& array, int64_t index, size_t slot, ValueSlots& slots) {
  switch (array.type_id()) {
    case Type::BOOL:
      return slots.set_boolean(slot, element<arrow::BooleanArray>(array, index)), true;
    case Type::INT8:
      return slots.set_integer(slot, element<arrow::Int8Array>(array, index)), true;
    case Type::INT16:
      return slots.set_integer(slot, element<arrow::Int16Array>(array, index)), true;
    case Type::INT32:
      return slots.set_integer(slot, element<arrow::Int32Array>(array, index)), true;
    case Type::INT64:
      return slots.set_integer(slot, element<arrow::Int64Array>(array, index)), true;
    case Type::UINT8:
      return slots.set_integer(slot, element<arrow::UInt8Array>(array, index)), true;
    case Type::UINT16:
      return slots.set_integer(slot, element<arrow::UInt16Array>(array, index)), true;
    case Type::UINT32:
      return slots.set_integer(slot, element<arrow::UInt32Array>(array, index)), true;
    case Type::UINT64:
      return copy_unsigned(element<arrow::UInt64Array>(array, index), slot, slots), true;
    case Type::HALF_FLOAT:
      return slots.set_number(
                 slot,
                 arrow::util::Float16::FromBits(element<arrow::HalfFloatArray>(array, index)).ToDouble()),
             true;
    case Type::FLOAT:
      return slots.set_number(slot, element<arrow::FloatArray>(array, index)), true;
    case Type::DOUBLE:
      return slots.set_number(slot, element<arrow::DoubleArray>(array, index)), true;
    default:
      return false;
  }
}

}  // namespace

std::string unreadable_type(const arrow::DataType& type, bool takes_bytes) {
  switch (type.id()) {
    case Type::EXTENSION:
      return unreadable_type(*static_cast<const arrow::ExtensionType&>(type).storage_type(), takes_bytes);
    case Type::DICTIONARY:
      return unreadable_type(*static_cast<const arrow::DictionaryType&>(type).value_type(), takes_bytes);
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::FIXED_SIZE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW:
    case Type::STRUCT:
      for (const auto& field : type.fields()) {
        if (std::string found = unreadable_type(*field->type(), takes_bytes); !found.empty()) return found;
      }
      return "";
    case Type::NA:
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
    case Type::BOOL:
    case Type::HALF_FLOAT:
    case Type::FLOAT:
    case Type::DOUBLE:
      return "";
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW:
      return takes_bytes ? "" : type.ToString();
    default:
      return arrow::is_integer(type.id()) ? "" : type.ToString();
  }
}

void copy_value(const arrow::Array& array, int64_t index, size_t slot, ValueSlots& slots) {
  if (array.IsNull(index) || copy_number(array, index, slot, slots)) return;
  switch (array.type_id()) {
    case Type::STRING:
      return slots.set_text(slot, text_of<arrow::StringArray>(array, index));
    case Type::LARGE_STRING:
      return slots.set_text(slot, text_of<arrow::LargeStringArray>(array, index));
    case Type::STRING_VIEW:
      return slots.set_text(slot, text_of<arrow::StringViewArray>(array, index));
    case Type::BINARY:
      return slots.set_text(slot, text_of<arrow::BinaryArray>(array, index));
    case Type::LARGE_BINARY:
      return slots.set_text(slot, text_of<arrow::LargeBinaryArray>(array, index));
    case Type::BINARY_VIEW:
      return slots.set_text(slot, text_of<arrow::BinaryViewArray>(array, index));
    case Type::DICTIONARY: {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
      return copy_value(*coded.dictionary(), coded.GetValueIndex(index), slot, slots);
    }
    case Type::LIST:
      return copy_list<arrow::ListArray>(array, index, slot, slots);
    case Type::LARGE_LIST:
      return copy_list<arrow::LargeListArray>(array, index, slot, slots);
    case Type::FIXED_SIZE_LIST:
      return copy_list<arrow::FixedSizeListArray>(array, index, slot, slots);
    case Type::LIST_VIEW:
      return copy_list<arrow::ListViewArray>(array, index, slot, slots);
    case Type::LARGE_LIST_VIEW:
      return copy_list<arrow::LargeListViewArray>(array, index, slot, slots);
    case Type::STRUCT:
      return copy_object(static_cast<const arrow::StructArray&>(array), index, slot, slots);
    case Type::EXTENSION:
      return copy_value(*static_cast<const arrow::ExtensionArray&>(array).storage(), index, slot, slots);
    default:  // NA
      return;
  }
}

}  // namespace hftrain::data
