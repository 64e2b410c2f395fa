// Values of a few columns of consecutive rows: what sources read and tasks encode.
//
// Text lies in one string and values in one array, so a row of text costs no allocation of its own, and lists
// and structures (tokens, SQuAD's answers, {"translation": {...}}) lie beside it in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::data {

class Records;

enum class ValueKind : uint8_t { kNull, kBoolean, kInteger, kNumber, kText, kList, kObject };

// "null", "a boolean", "a number", "a string", "an array", "an object": the word in messages.
const char* kind_name(ValueKind kind);

// One value; a view that lives as long as its Records stay as they are. Asked for what it is not it throws an
// Error (exit code 1): look at kind() first.
class Value {
 public:
  ValueKind kind() const;
  bool boolean() const;
  int64_t integer() const;
  double number() const;  // of an integer too
  std::string_view text() const;
  size_t size() const;  // elements of a list, fields of an object
  Value operator[](size_t index) const;
  std::string_view key(size_t field) const;
  // The field of an object; nothing when it has none of that name.
  std::optional<Value> find(std::string_view key) const;

 private:
  friend class Records;
  Value(const Records& records, size_t slot) : records_(&records), slot_(slot) {}

  const Records* records_;
  size_t slot_;
};

// Used by one thread while rows are added, by any number afterwards.
class Records {
 public:
  explicit Records(size_t columns = 1) : columns_(columns) {}

  size_t columns() const { return columns_; }
  size_t rows() const { return rows_.size(); }
  Value value(size_t row, size_t column) const { return {*this, rows_[row].first_slot + column}; }
  // "path:line" of the row, for messages; the path alone of a row that is a file (line 0).
  std::string where(size_t row) const;
  // Of all text; what a chunk of rows is measured by.
  size_t text_bytes() const { return text_.size(); }

  // Adding: a row is null in all columns until its slots are set. A slot is set once.
  void begin_row(const std::string& path, int64_t line);
  size_t slot(size_t column) const { return rows_.back().first_slot + column; }
  void set_boolean(size_t slot, bool value);
  void set_integer(size_t slot, int64_t value);
  void set_number(size_t slot, double value);
  void set_text(size_t slot, std::string_view text);
  // The first of `size` slots for the elements, which follow one another.
  size_t set_list(size_t slot, size_t size);
  // The first of 2 * `size` slots: key, value, key, value, …
  size_t set_object(size_t slot, size_t size);
  // For a reader that appends to a string: it adds to open_text(), then the slot takes what is behind
  // `begin`, its size before.
  std::string& open_text() { return text_; }
  void close_text(size_t slot, size_t begin);

  // Adds a row of another object, of single values only: a list or an object is an Error (exit code 4).
  void add_copy(const Records& from, size_t row);

  void drop_last_row();
  void clear();

 private:
  friend class Value;

  struct Cell {
    ValueKind kind = ValueKind::kNull;
    union {
      bool boolean;
      int64_t integer;
      double number;
      size_t begin = 0;  // in text_, or the first slot
    };
    size_t size = 0;
  };
  struct Row {
    size_t first_slot, text_begin, path;
    int64_t line;
  };

  const Cell& cell(size_t slot, ValueKind expected) const;
  size_t add_slots(size_t slot, ValueKind kind, size_t size, size_t slots);

  size_t columns_;
  std::string text_;
  std::vector<Cell> cells_;
  std::vector<Row> rows_;
  std::vector<std::string> paths_;
};

}  // namespace hftrain::data
