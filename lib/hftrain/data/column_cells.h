// What the cells of a column of a .csv or .tsv file stand for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "hftrain/data/records.h"

namespace hftrain::data {

// Files say nothing of types. The package datasets asks pandas, which looks at a column of its first 10,000 rows: numbers may
// have a sign and white space about them where all of its cells are numbers, and true and false are truths where there is
// nothing else. In every other column a cell speaks for itself.
enum class CellForm { kText, kOneByOne, kNumbers, kTruths };

inline constexpr size_t kRowsThatDecide = 10'000;

// Which forms the cells that were looked at leave open.
class CellForms {
 public:
  void look_at(std::string_view cell);
  // kOneByOne where there was no cell.
  CellForm form() const;

 private:
  bool seen_ = false, numbers_ = true, truths_ = true;
};

// Sets `slot` to what `cell` stands for: an integer of 64 bits, a finite number, a truth or, where it is none of what the form
// allows, its text. Whole numbers that do not fit are texts.
void set_cell(Records& records, size_t slot, const std::string& cell, CellForm form);

}  // namespace hftrain::data
