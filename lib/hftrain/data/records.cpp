#include "hftrain/data/records.h"

#include "hftrain/base/error.h"

namespace hftrain::data {

const char* kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNull:
      return "null";
    case ValueKind::kBoolean:
      return "a boolean";
    case ValueKind::kInteger:
    case ValueKind::kNumber:
      return "a number";
    case ValueKind::kText:
      return "a string";
    case ValueKind::kList:
      return "an array";
    case ValueKind::kObject:
      return "an object";
  }
  return "";
}

ValueKind Value::kind() const {
  return records_->cells_[slot_].kind;
}

bool Value::boolean() const {
  return records_->cell(slot_, ValueKind::kBoolean).boolean;
}

int64_t Value::integer() const {
  return records_->cell(slot_, ValueKind::kInteger).integer;
}

double Value::number() const {
  return kind() == ValueKind::kInteger ? static_cast<double>(integer())
                                       : records_->cell(slot_, ValueKind::kNumber).number;
}

std::string_view Value::text() const {
  const Records::Cell& cell = records_->cell(slot_, ValueKind::kText);
  return std::string_view(records_->text_).substr(cell.begin, cell.size);
}

size_t Value::size() const {
  return kind() == ValueKind::kObject ? records_->cells_[slot_].size
                                      : records_->cell(slot_, ValueKind::kList).size;
}

Value Value::operator[](size_t index) const {
  const Records::Cell& cell = records_->cell(slot_, ValueKind::kList);
  if (index >= cell.size) throw Error(ExitCode::kInternal, "a list has no element " + std::to_string(index));
  return {*records_, cell.begin + index};
}

std::string_view Value::key(size_t field) const {
  const Records::Cell& cell = records_->cell(slot_, ValueKind::kObject);
  if (field >= cell.size) throw Error(ExitCode::kInternal, "an object has no field " + std::to_string(field));
  return Value(*records_, cell.begin + 2 * field).text();
}

std::optional<Value> Value::find(std::string_view name) const {
  const Records::Cell& cell = records_->cell(slot_, ValueKind::kObject);
  for (size_t field = 0; field < cell.size; ++field) {
    if (key(field) == name) return Value(*records_, cell.begin + 2 * field + 1);
  }
  return std::nullopt;
}

std::string Records::where(size_t row) const {
  const std::string& path = paths_[rows_[row].path];
  return rows_[row].line > 0 ? path + ':' + std::to_string(rows_[row].line) : path;
}

void Records::begin_row(const std::string& path, int64_t line) {
  if (paths_.empty() || paths_.back() != path) paths_.push_back(path);
  rows_.push_back({cells_.size(), text_.size(), paths_.size() - 1, line});
  cells_.resize(cells_.size() + columns_);
}

void Records::set_boolean(size_t slot, bool value) {
  cells_[slot].kind = ValueKind::kBoolean;
  cells_[slot].boolean = value;
}

void Records::set_integer(size_t slot, int64_t value) {
  cells_[slot].kind = ValueKind::kInteger;
  cells_[slot].integer = value;
}

void Records::set_number(size_t slot, double value) {
  cells_[slot].kind = ValueKind::kNumber;
  cells_[slot].number = value;
}

void Records::set_text(size_t slot, std::string_view text) {
  const size_t begin = text_.size();
  text_ += text;
  close_text(slot, begin);
}

void Records::close_text(size_t slot, size_t begin) {
  cells_[slot].kind = ValueKind::kText;
  cells_[slot].begin = begin;
  cells_[slot].size = text_.size() - begin;
}

size_t Records::set_list(size_t slot, size_t size) {
  return add_slots(slot, ValueKind::kList, size, size);
}

size_t Records::set_object(size_t slot, size_t size) {
  return add_slots(slot, ValueKind::kObject, size, 2 * size);
}

size_t Records::add_slots(size_t slot, ValueKind kind, size_t size, size_t slots) {
  const size_t first = cells_.size();
  cells_.resize(first + slots);
  cells_[slot].kind = kind;
  cells_[slot].begin = first;
  cells_[slot].size = size;
  return first;
}

void Records::add_copy(const Records& from, size_t row) {
  begin_row(from.paths_[from.rows_[row].path], from.rows_[row].line);
  for (size_t column = 0; column < columns_; ++column) {
    const Value value = from.value(row, column);
    switch (value.kind()) {
      case ValueKind::kText:
        set_text(slot(column), value.text());
        break;
      case ValueKind::kList:
      case ValueKind::kObject:
        throw Error(ExitCode::kData, "a row holds more than one value where a single one belongs")
            .where(from.where(row))
            .why(std::string("one of its columns is ") + kind_name(value.kind()))
            .hint("a string or a number in every column that is read");
      default:
        cells_[slot(column)] = from.cells_[from.rows_[row].first_slot + column];
    }
  }
}

void Records::drop_last_row() {
  cells_.resize(rows_.back().first_slot);
  text_.resize(rows_.back().text_begin);
  rows_.pop_back();
}

void Records::clear() {
  text_.clear();
  cells_.clear();
  rows_.clear();
  paths_.clear();
}

const Records::Cell& Records::cell(size_t slot, ValueKind expected) const {
  const Cell& found = cells_[slot];
  if (found.kind == expected) return found;
  throw Error(ExitCode::kInternal, std::string("a value of a record is ") + kind_name(found.kind) + ", not " +
                                       kind_name(expected));
}

}  // namespace hftrain::data
