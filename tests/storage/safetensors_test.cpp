#include <cstring>

#include "fault_injecting_file_system.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/storage/safetensors_writer.h"
#include "plain_files.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using testing::TemporaryDirectory;
using testing::write_text;

const std::string kGolden = testing::source_dir() + "/tests/golden/storage/mixed.safetensors";

// A file of header and data, with the right length in front.
std::string with_header(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

std::string why_refused(const std::string& bytes) {
  const TemporaryDirectory folder;
  write_text(folder / "x.safetensors", bytes);
  try {
    SafetensorsFile file(folder / "x.safetensors");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK(error.diagnostics().front().where == folder / "x.safetensors");
    return error.diagnostics().front().why;
  }
  return "accepted";
}

TEST_CASE("every dtype has a name that leads back to it", "[storage]") {
  for (int i = 0; i <= static_cast<int>(DType::kU64); ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(dtype_from_name(dtype_name(dtype)) == dtype);
    CHECK(dtype_bits(dtype) >= 4);
  }
  CHECK_FALSE(dtype_from_name("F128"));
  CHECK(dtype_bits(DType::kBF16) == 16);
}

TEST_CASE("a file of the real package is read", "[storage]") {
  const SafetensorsFile file(kGolden);
  CHECK(file.metadata() == std::map<std::string, std::string>{{"format", "pt"}});
  CHECK(file.tensors().size() == 15);
  const StoredTensor* weight = file.find("b.weight");
  REQUIRE(weight != nullptr);
  CHECK(weight->entry.dtype == DType::kF32);
  CHECK(weight->entry.shape == std::vector<int64_t>{2, 3});
  REQUIRE(weight->bytes.size() == 24);
  for (size_t i = 0; i < 24; ++i) CHECK(static_cast<size_t>(weight->bytes[i]) == i + 1);
  CHECK(file.find("scalar")->entry.shape.empty());
  CHECK(file.find("scalar")->bytes.size() == 8);
  CHECK(file.find("empty")->bytes.empty());
  CHECK(file.find("quote\"\u00e9\n") != nullptr);
  CHECK(file.find("missing") == nullptr);
}

TEST_CASE("writing the same tensors gives the same bytes as the real package", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  const SafetensorsFile golden(kGolden);
  std::vector<TensorEntry> entries;
  for (const StoredTensor& tensor : golden.tensors()) entries.insert(entries.begin(), tensor.entry);
  const FileRecord record =
      write_safetensors(files, folder / "copy.safetensors", entries,
                        [&](const TensorEntry& entry) { return golden.find(entry.name)->bytes; });
  CHECK(read_file(folder / "copy.safetensors") == read_file(kGolden));
  CHECK(record == FileRecord{folder / "copy.safetensors", golden.file_bytes(), hash_file(kGolden)});
}

TEST_CASE("a tensor may be written in pieces, and an empty file is legal", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  SafetensorsWriter writer(files, folder / "a", {{"w", DType::kI32, {2}}, {"none", DType::kF64, {0}}});
  REQUIRE(writer.entries().front().name == "none");
  writer.write("none", "");
  writer.write("w", "abc");
  writer.write("w", "defgh");
  const FileRecord record = writer.finish();
  CHECK(record.hash == hash_file(folder / "a"));
  CHECK(SafetensorsFile(folder / "a").find("w")->bytes == "abcdefgh");

  SafetensorsWriter empty(files, folder / "b", {});
  empty.finish();
  CHECK(SafetensorsFile(folder / "b").tensors().empty());
}

TEST_CASE("a writer refuses what would make a wrong file", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  SafetensorsWriter writer(files, folder / "a", {{"x", DType::kU8, {2}}, {"y", DType::kU8, {2}}});
  CHECK_REFUSED(writer.write("y", "ab"), "2 bytes of 'y' came");
  CHECK_REFUSED(writer.write("x", "abc"), "3 bytes of 'x' came");
  writer.write("x", "ab");
  writer.write("y", "a");
  CHECK_REFUSED(writer.finish(), "1 bytes of 'y' are missing");
  writer.write("y", "b");
  CHECK_REFUSED(writer.write("y", "c"), "1 bytes of 'y' came");
  writer.finish();
  using Entries = std::vector<TensorEntry>;
  CHECK_REFUSED(
      SafetensorsWriter(files, folder / "b", Entries{{"x", DType::kU8, {1}}, {"x", DType::kU8, {1}}}),
      "tensor 'x' is declared twice");
}

TEST_CASE("a write that fails leaves the earlier file and no temporary one", "[storage]") {
  const TemporaryDirectory folder;
  write_text(folder / "w", "earlier");
  for (int k = 0; k < 5; ++k) {
    testing::FaultInjectingFileSystem files(testing::FaultInjectingFileSystem::Trouble::kDiskFull, k);
    try {
      write_safetensors(files, folder / "w", {{"x", DType::kU8, {4}}}, [](const auto&) { return "abcd"; });
      FAIL("operation " << k << " did not fail");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kDisk);
    }
    CHECK(read_file(folder / "w") == "earlier");
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  }
}

TEST_CASE("a header may have white space behind it and no metadata", "[storage]") {
  CHECK(why_refused(with_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}     ",
                                "ab")) == "accepted");
}

struct Refusal {
  const char* what;
  std::string bytes;
  const char* why;
};

std::string entry(const char* dtype, const char* shape, const char* offsets) {
  return std::string("\"a\":{\"dtype\":\"") + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

TEST_CASE("every violation of the format is refused with its reason", "[storage]") {
  const std::string sound = "{" + entry("U8", "[2]", "[0,2]") + "}";
  const std::string twice = "{" + entry("U8", "[1]", "[0,1]") + "," + entry("U8", "[1]", "[1,2]") + "}";
  const auto one = [](const char* dtype, const char* shape, const char* offsets, const std::string& data) {
    return with_header("{" + entry(dtype, shape, offsets) + "}", data);
  };
  std::string huge(8, '\xff');
  const std::vector<Refusal> refusals = {
      {"empty file", "", "too few"},
      {"seven bytes", "1234567", "too few"},
      {"length above the limit", huge + "{}", "100,000,000 is the limit"},
      {"length just above it", std::string("\x01\xe1\xf5\x05\0\0\0\0", 8) + "{}", "100,000,000 is the limit"},
      {"length beyond the end", with_header(sound, "").substr(0, 20), "the file is shorter"},
      {"no header at all", with_header("", ""), "does not start with"},
      {"not an object", with_header("[]", ""), "does not start with"},
      {"leading space", with_header(" {}", ""), "does not start with"},
      {"not JSON", with_header("{\"a\":", ""), "not valid JSON"},
      {"not UTF-8", with_header("{\"\xff\":1}", ""), "not valid JSON"},
      {"text behind the JSON", with_header("{} x", ""), "not valid JSON"},
      {"duplicate tensor", with_header(twice, "ab"), "twice"},
      {"duplicate member", one("U8\",\"dtype\":\"U8", "[2]", "[0,2]", "ab"), "twice"},
      {"deep nesting", with_header("{\"a\":[[[[[[1]]]]]]}", ""), "nested"},
      {"entry not an object", with_header("{\"a\":1}", ""), "not an object"},
      {"unknown dtype", one("F128", "[2]", "[0,2]", "ab"), "unknown dtype"},
      {"dtype missing", with_header("{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", "a"), "no dtype"},
      {"shape missing", with_header("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", "a"), "no shape"},
      {"offsets missing", with_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", "a"), "no data_offsets"},
      {"three offsets", one("U8", "[2]", "[0,1,2]", "ab"), "no data_offsets"},
      {"negative size", one("U8", "[-2]", "[0,2]", "ab"), "whole number"},
      {"fractional size", one("U8", "[2.0]", "[0,2]", "ab"), "whole number"},
      {"size too large", one("U8", "[18446744073709551615]", "[0,2]", "ab"), "too large"},
      {"product overflows", one("U8", "[9223372036854775807,9223372036854775807]", "[0,2]", "ab"),
       "too large"},
      {"bits overflow", one("F64", "[2305843009213693952]", "[0,0]", ""), "too large"},
      {"negative offset", one("U8", "[2]", "[-1,1]", "ab"), "whole number"},
      {"backwards", one("U8", "[2]", "[2,0]", "ab"), "backwards"},
      {"shape and range differ", one("F32", "[2]", "[0,4]", "abcd"), "needs 8 bytes"},
      {"half a byte", one("F4", "[3]", "[0,1]", "a"), "needs"},
      {"hole in front", one("U8", "[2]", "[1,3]", "abc"), "hole"},
      {"past the end", one("U8", "[3]", "[0,3]", "ab"), "has 2 bytes of data"},
      {"bytes behind", one("U8", "[2]", "[0,2]", "abc"), "1 bytes follow"},
      {"bytes without tensors", with_header("{}", "abc"), "3 bytes follow"},
      {"overlap",
       with_header("{" + entry("U8", "[2]", "[0,2]") +
                       ",\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
                   "abc"),
       "overlap"},
      {"metadata not an object", with_header("{\"__metadata__\":[]}", ""), "__metadata__"},
      {"metadata of numbers", with_header("{\"__metadata__\":{\"a\":1}}", ""), "__metadata__"},
  };
  for (const Refusal& refusal : refusals) {
    INFO(refusal.what);
    CHECK_THAT(why_refused(refusal.bytes), Catch::Contains(refusal.why));
  }
}

TEST_CASE("a file cut at any byte is refused", "[storage]") {
  const std::string whole = read_file(kGolden);
  for (size_t length = 0; length < whole.size(); length += 7) {
    INFO(length);
    CHECK(why_refused(whole.substr(0, length)) != "accepted");
  }
}

TEST_CASE("a missing file is named", "[storage]") {
  CHECK_REFUSED(SafetensorsFile("/nonexistent/model.safetensors"), "where: /nonexistent/model.safetensors");
}

}  // namespace
}  // namespace hftrain::storage
