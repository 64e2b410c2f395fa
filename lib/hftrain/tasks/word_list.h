// Lists of words or tags in the cells of rows.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hftrain/data/records.h"

namespace hftrain::tasks {

struct WordList {
  std::vector<std::string> texts;  // numbers as digits
  bool numbers = false;            // all of them are whole numbers; false of an empty list
};

// What a cell is read for.
enum class ListOf { kWords, kTags };

// The list in a row's cell: of a file of records an array, of a .csv or .tsv file an array as JSON text. Words
// are strings; tags are strings, or all whole numbers. Anything else is an Error (exit code 4) at the row.
WordList read_list(const data::Records& records, size_t row, size_t column, ListOf what);

}  // namespace hftrain::tasks
