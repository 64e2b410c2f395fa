// What libhftrain_parquet.so and the program say to each other. The plug-in links libarrow and libparquet of the wheel
// pyarrow and nothing of hftrain: this header is all they share, and both sides are built together.
//
// The plug-in reports what is wrong by throwing ParquetProblem, and throws nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::data {

// Thrown across the border of the plug-in, hence visible.
struct __attribute__((visibility("default"))) ParquetProblem {
  std::string column;  // empty: the file as a whole
  int64_t row = 0;     // from 1; 0: none in particular
  std::string why;
  std::string hint;  // empty: the usual one
};

struct ParquetColumn {
  std::string name;
  std::string unreadable;  // the type that no value of a record has, as Arrow prints it; empty: there is none
  bool holds_bytes = false;  // and that type is bytes, here or in a field: of an image they are read, as text
};

// Where the values of a row go: the slots of a Records (records.h), all of which are null at first.
class ValueSlots {
 public:
  virtual ~ValueSlots() = default;
  virtual void set_boolean(size_t slot, bool value) = 0;
  virtual void set_integer(size_t slot, int64_t value) = 0;
  virtual void set_number(size_t slot, double value) = 0;
  virtual void set_text(size_t slot, std::string_view text) = 0;
  // The first of `size` slots, which follow one another; of an object the first of 2 * `size`: key, value, …
  virtual size_t set_list(size_t slot, size_t size) = 0;
  virtual size_t set_object(size_t slot, size_t size) = 0;
};

// One open file, used by one thread: columns() first, select() once, then next() until it says false.
class ParquetReader {
 public:
  virtual ~ParquetReader() = default;
  virtual std::vector<ParquetColumn> columns() const = 0;
  // What Python's package datasets keeps in the file of the types of its columns, JSON; empty where it did not write it.
  virtual std::string features() const = 0;
  // Which of them are read, by number; all of them readable, or bytes of images, each once.
  virtual void select(const std::vector<size_t>& columns) = 0;
  // Goes to the next row. False at the end of the file.
  virtual bool next() = 0;
  // Copies the value that selected column number `place` has in this row. Fields of an object that are null
  // are left out, as Parquet cannot tell them from missing ones.
  virtual void copy(size_t place, size_t slot, ValueSlots& slots) = 0;
  // Share of the rows that have been read, for progress.
  virtual double share_read() const = 0;
};

// Offered by its one exported symbol.
struct ParquetPlugin {
  const char* arrow_version;  // of the headers that it was built with
  std::unique_ptr<ParquetReader> (*open)(const std::string& path);
};
using ParquetPluginFunction = const ParquetPlugin& (*)();
inline constexpr const char* kParquetPluginSymbol = "hftrain_parquet_plugin";

}  // namespace hftrain::data
