#include "hftrain/data/column_cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <variant>

namespace hftrain::data {
namespace {

constexpr std::string_view kWhite = " \t\n\v\f\r";
// As pandas spells them.
constexpr std::string_view kTrue[] = {"True", "TRUE", "true"}, kFalse[] = {"False", "FALSE", "false"};

template <typename T>
bool reads(std::string_view cell, T& value) {
  const auto read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return read.ec == std::errc() && read.ptr == cell.data() + cell.size();
}

bool is_whole_number(std::string_view cell) {
  if (cell.starts_with('-')) cell.remove_prefix(1);
  return !cell.empty() && cell.find_first_not_of("0123456789") == std::string_view::npos;
}

// Without the white space about it and the plus before it.
std::string_view bare(std::string_view cell) {
  const size_t begin = cell.find_first_not_of(kWhite);
  if (begin == std::string_view::npos) return {};
  cell = cell.substr(begin, cell.find_last_not_of(kWhite) + 1 - begin);
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  return cell;
}

using Number = std::variant<std::monostate, int64_t, double>;

Number number_in(std::string_view cell) {
  int64_t integer = 0;
  double number = 0;
  if (reads(cell, integer)) return integer;
  if (!is_whole_number(cell) && reads(cell, number) && std::isfinite(number)) return number;
  return {};
}

std::optional<bool> truth_of(std::string_view cell) {
  if (std::ranges::find(kTrue, cell) != std::end(kTrue)) return true;
  if (std::ranges::find(kFalse, cell) != std::end(kFalse)) return false;
  return std::nullopt;
}

}  // namespace

void CellForms::look_at(std::string_view cell) {
  seen_ = true;
  numbers_ = numbers_ && number_in(bare(cell)).index() != 0;
  truths_ = truths_ && truth_of(cell);
}

CellForm CellForms::form() const {
  if (!seen_ || (!numbers_ && !truths_)) return CellForm::kOneByOne;
  return numbers_ ? CellForm::kNumbers : CellForm::kTruths;
}

void set_cell(Records& records, size_t slot, const std::string& cell, CellForm form) {
  if (form == CellForm::kText) return records.set_text(slot, cell);
  const Number number = number_in(form == CellForm::kNumbers ? bare(cell) : std::string_view(cell));
  if (const auto* integer = std::get_if<int64_t>(&number)) return records.set_integer(slot, *integer);
  if (const auto* fraction = std::get_if<double>(&number)) return records.set_number(slot, *fraction);
  const std::optional<bool> truth = form == CellForm::kTruths ? truth_of(cell) : std::nullopt;
  if (truth) return records.set_boolean(slot, *truth);
  records.set_text(slot, cell);
}

}  // namespace hftrain::data
