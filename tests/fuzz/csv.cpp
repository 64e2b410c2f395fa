// A .csv file, or after a first byte of 't' a .tsv file.
#include "fuzz.h"
#include "hftrain/data/row_source.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    using data::RowFormat;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    const bool other = text.starts_with('t');
    if (other) text.remove_prefix(1);
    const auto rows =
        data::open_rows({{fuzz::file_with("rows", text), other ? RowFormat::kTsv : RowFormat::kCsv}},
                        {.keep_linebreaks = true, .longest_row = 1 << 16});
    for (data::Records row; rows->next(row); row.clear()) {
      if (row.text_bytes() > size) __builtin_trap();
    }
  });
}
