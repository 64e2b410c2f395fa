#include "hftrain/data/column_file.h"

#include <cstring>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/column_writer.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace {

using hftrain::Error;
using hftrain::ExitCode;
using hftrain::data::ColumnFile;
using hftrain::data::ColumnWriter;
using hftrain::data::FeatureType;
using hftrain::testing::TemporaryDirectory;

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A pair as Megatron lays it out, put together by hand.
template <typename T>
void write_pair(const std::string& prefix, uint8_t code, const std::vector<std::vector<T>>& sequences) {
  std::string tokens;
  std::vector<int32_t> lengths;
  std::vector<int64_t> offsets, documents = {0};
  for (const auto& sequence : sequences) {
    offsets.push_back(static_cast<int64_t>(tokens.size()));
    lengths.push_back(static_cast<int32_t>(sequence.size()));
    documents.push_back(static_cast<int64_t>(lengths.size()));
    tokens += bytes_of(sequence);
  }
  std::string index("MMIDIDX\0\0", 9);
  index += bytes_of<uint64_t>({1});
  index += static_cast<char>(code);
  index += bytes_of<uint64_t>({sequences.size(), documents.size()});
  index += bytes_of(lengths) + bytes_of(offsets) + bytes_of(documents);
  hftrain::write_file_atomically(prefix + ".bin", tokens);
  hftrain::write_file_atomically(prefix + ".idx", index);
}

std::vector<int64_t> sample(const ColumnFile& dataset, int64_t index) {
  std::vector<int64_t> ids(static_cast<size_t>(dataset.length(index)));
  dataset.copy_to(index, ids.data());
  return ids;
}

ExitCode open_code(const std::string& prefix) {
  try {
    ColumnFile::open(prefix);
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::kDone;
}

}  // namespace

TEST_CASE("Token pairs of every integer type are read and widened") {
  const TemporaryDirectory folder;
  write_pair<uint8_t>(folder / "u8", 1, {{0, 255}, {7}});
  write_pair<int8_t>(folder / "i8", 2, {{0, 127}, {7}});
  write_pair<int16_t>(folder / "i16", 3, {{0, 32767}, {7}});
  write_pair<int32_t>(folder / "i32", 4, {{0, 2147483647}, {7}});
  write_pair<int64_t>(folder / "i64", 5, {{0, 1LL << 40}, {7}});
  write_pair<uint16_t>(folder / "u16", 8, {{0, 65535}, {7}});
  const std::vector<std::pair<std::string, int64_t>> largest = {
      {"u8", 255}, {"i8", 127}, {"i16", 32767}, {"i32", 2147483647}, {"i64", 1LL << 40}, {"u16", 65535}};
  for (const auto& [name, value] : largest) {
    CAPTURE(name);
    const auto dataset = ColumnFile::open(folder / name);
    REQUIRE(dataset->size() == 2);
    CHECK(sample(*dataset, 0) == std::vector<int64_t>{0, value});
    CHECK(sample(*dataset, 1) == std::vector<int64_t>{7});
  }
}

TEST_CASE("What the writer wrote is read back, two bytes an id where the vocabulary allows") {
  const TemporaryDirectory folder;
  for (const int64_t vocab_size : {65536, 65537}) {
    const std::string prefix = folder / std::to_string(vocab_size);
    ColumnWriter writer(prefix, vocab_size);
    writer.add(std::vector<int32_t>{1, 2, 65535});
    CHECK_FALSE(hftrain::path_exists(prefix + ".idx"));
    writer.add(std::vector<int32_t>{});
    writer.add(std::vector<int32_t>{0});
    writer.finish();
    CHECK(writer.sequences() == 3);
    CHECK(writer.tokens() == 4);
    CHECK(hftrain::read_file(prefix + ".bin").size() == (vocab_size == 65536 ? 8 : 16));
    const auto dataset = ColumnFile::open(prefix);
    REQUIRE(dataset->size() == 3);
    CHECK(sample(*dataset, 0) == std::vector<int64_t>{1, 2, 65535});
    CHECK(sample(*dataset, 1).empty());
    CHECK(sample(*dataset, 2) == std::vector<int64_t>{0});
  }
}

TEST_CASE("The writer refuses an id outside the vocabulary instead of wrapping it round") {
  const TemporaryDirectory folder;
  ColumnWriter writer(folder / "x", 100);
  CHECK_REFUSED(writer.add(std::vector<int32_t>{100}), "token id 100 lies outside the vocabulary");
  CHECK_REFUSED(writer.add(std::vector<int32_t>{-1}), "token id -1 lies outside the vocabulary");
}

TEST_CASE("Damaged and foreign token files are data errors") {
  const TemporaryDirectory folder;
  const std::string prefix = folder / "x";
  write_pair<uint16_t>(prefix, 8, {{1, 2, 3}, {4, 5, 6}});
  const std::string index = hftrain::read_file(prefix + ".idx");
  const std::string tokens = hftrain::read_file(prefix + ".bin");
  const auto code_with_index = [&](const std::string& bytes) {
    hftrain::write_file_atomically(prefix + ".idx", bytes);
    return open_code(prefix);
  };
  CHECK(open_code(prefix) == ExitCode::kDone);
  CHECK(code_with_index("") == ExitCode::kData);
  CHECK(code_with_index("not an index, but long enough to hold a header") == ExitCode::kData);
  CHECK(code_with_index(index.substr(0, index.size() - 1)) == ExitCode::kData);
  CHECK(code_with_index(index + "x") == ExitCode::kData);
  std::string changed = index;
  changed[9] = 2;  // version
  CHECK(code_with_index(changed) == ExitCode::kData);
  changed = index;
  changed[17] = 6;  // float64
  CHECK(code_with_index(changed) == ExitCode::kData);
  changed = index;
  std::memset(changed.data() + 18, 0xff, 16);  // counts whose sizes overflow
  CHECK(code_with_index(changed) == ExitCode::kData);
  CHECK(code_with_index(index) == ExitCode::kDone);
  hftrain::write_file_atomically(prefix + ".bin", tokens.substr(0, tokens.size() - 1));
  CHECK(open_code(prefix) == ExitCode::kData);
  CHECK(open_code(folder / "missing") == ExitCode::kData);
}

TEST_CASE("A column of floats is read as floats, and never as ids") {
  const TemporaryDirectory folder;
  const std::string prefix = folder / "scores";
  ColumnWriter writer(prefix, FeatureType::kFloat, 0);
  writer.add(std::vector<float>{0.5F, -3.25F});
  writer.add(std::vector<float>{1e-30F});
  writer.finish();
  const auto column = ColumnFile::open(prefix);
  CHECK(column->floats());
  std::vector<float> scores(2);
  column->copy_to(0, scores.data());
  CHECK(scores == std::vector<float>{0.5F, -3.25F});
  column->copy_to(1, scores.data());
  CHECK(scores.front() == 1e-30F);
  std::vector<int64_t> ids(2);
  CHECK_REFUSED(column->copy_to(0, ids.data()), "it holds floats where whole numbers are wanted");
  write_pair<float>(folder / "foreign", 7, {{1.5F}});
  ColumnFile::open(folder / "foreign")->copy_to(0, scores.data());
  CHECK(scores.front() == 1.5F);
  write_pair<uint16_t>(folder / "ids", 8, {{1, 2}});
  CHECK_REFUSED(ColumnFile::open(folder / "ids")->copy_to(0, scores.data()),
                "it holds whole numbers where floats are wanted");
}

TEST_CASE("A column of whole numbers keeps its sign and takes any int32") {
  const TemporaryDirectory folder;
  ColumnWriter writer(folder / "labels", FeatureType::kInteger, 0);
  writer.add(std::vector<int32_t>{-100, 2147483647});
  writer.finish();
  const auto column = ColumnFile::open(folder / "labels");
  CHECK_FALSE(column->floats());
  CHECK(sample(*column, 0) == std::vector<int64_t>{-100, 2147483647});
}

TEST_CASE("A sequence of a length that no file has is refused before there is room for it") {
  const TemporaryDirectory folder;
  const std::string prefix = folder / "x";
  write_pair<uint16_t>(prefix, 8, {{1, 2, 3}, {4, 5, 6}});
  const std::string index = hftrain::read_file(prefix + ".idx");
  for (const char* length : {"\xfb\xff\xff\xff", "\xff\xff\xff\x7f", "\x07\x00\x00\x00"}) {
    hftrain::write_file_atomically(prefix + ".idx", std::string(index).replace(34, 4, length, 4));
    CHECK_REFUSED(ColumnFile::open(prefix)->length(0), "sequence 0 lies outside the 12 bytes");
  }
}

TEST_CASE("A sequence that points outside the tokens is refused when it is read") {
  const TemporaryDirectory folder;
  const std::string prefix = folder / "x";
  write_pair<uint16_t>(prefix, 8, {{1, 2, 3}, {4, 5, 6}});
  std::string index = hftrain::read_file(prefix + ".idx");
  index[34 + 8] = 100;  // the byte offset of the first sequence
  hftrain::write_file_atomically(prefix + ".idx", index);
  const auto dataset = ColumnFile::open(prefix);
  std::vector<int64_t> ids(3);
  CHECK_REFUSED(dataset->copy_to(0, ids.data()), "sequence 0 lies outside");
  CHECK(sample(*dataset, 1) == std::vector<int64_t>{4, 5, 6});
  CHECK_REFUSED(dataset->length(2), "sample 2 does not exist");
}
