#include "hftrain/interchange/zip_file.h"

#include <fstream>
#include <functional>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/interchange/crc32.h"
#include "hftrain/interchange/zip_writer.h"
#include "support/catch.h"
#include "support/python.h"
#include "support/refusal.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::interchange {
namespace {

using testing::TemporaryDirectory;

std::string numbered_bytes(size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += static_cast<char>(i * 7);
  return bytes;
}

storage::FileRecord write_two(const std::string& path) {
  storage::PosixFileSystem files;
  ZipWriter zip(files, path, 0);
  zip.add("state/data.pkl", "pickle");
  zip.begin("state/data/0", 1000);
  zip.write(numbered_bytes(1000).substr(0, 300));
  zip.write(numbered_bytes(1000).substr(300));
  zip.end();
  return zip.finish();
}

std::string refusal_of(const std::string& path) {
  try {
    const ZipFile zip(path);
    for (const auto& [name, entry] : zip.entries()) zip.check(name);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK(error.diagnostics().front().where == path);
    CHECK(!error.diagnostics().front().hint.empty());
    return error.diagnostics().front().why;
  }
  return "";
}

std::string refusal_of_bytes(const TemporaryDirectory& folder, const std::string& bytes) {
  std::ofstream(folder / "changed.pt", std::ios::binary) << bytes;
  return refusal_of(folder / "changed.pt");
}

TEST_CASE("the checksum is that of zip files") {
  CHECK(crc32("123456789") == 0xcbf43926U);
  CHECK(crc32("456789", crc32("123")) == 0xcbf43926U);
}

TEST_CASE("what the writer stores the reader finds, each entry at a multiple of 64 bytes") {
  const TemporaryDirectory folder;
  const storage::FileRecord record = write_two(folder / "state.pt");
  const ZipFile zip(folder / "state.pt");
  REQUIRE(zip.entries().size() == 2);
  CHECK(zip.find("state/data.pkl")->bytes == "pickle");
  CHECK(zip.find("state/data/0")->bytes == numbered_bytes(1000));
  CHECK(zip.find("state") == nullptr);
  zip.check("state/data/0");
  const std::string all = read_file(folder / "state.pt");
  for (const auto& [name, entry] : zip.entries()) CHECK(all.find(entry.bytes) % 64 == 0);
  CHECK(record.size == all.size());
  CHECK(record.hash == hash_bytes(all));
}

TEST_CASE("an entry takes exactly the bytes that it was begun with") {
  const TemporaryDirectory folder;
  storage::PosixFileSystem files;
  ZipWriter zip(files, folder / "state.pt", 0);
  zip.begin("a", 4);
  CHECK_REFUSED(zip.write("12345"), "more bytes came than an entry has");
  zip.write("123");
  CHECK_REFUSED(zip.end(), "bytes of a zip file came out of order");
  CHECK_REFUSED(zip.begin("b", 1), "'a' lacks 1 bytes");
}

TEST_CASE("a file cut short anywhere is refused, and so is one with a changed byte of an entry") {
  const TemporaryDirectory folder;
  write_two(folder / "state.pt");
  const std::string all = read_file(folder / "state.pt");
  for (size_t length = 0; length < all.size(); length += 13)
    CHECK(!refusal_of_bytes(folder, all.substr(0, length)).empty());
  std::string changed = all;
  changed[all.find("pickle")] = 'P';
  CHECK(refusal_of_bytes(folder, changed) == "'state/data.pkl' in it does not have its checksum");
}

TEST_CASE("compressed and encrypted entries, and headers that contradict the directory, are refused") {
  const TemporaryDirectory folder;
  write_two(folder / "state.pt");
  const std::string all = read_file(folder / "state.pt");
  const size_t listed = all.find("PK\x01\x02");
  const auto with = [&](size_t at, const std::string& bytes) {
    std::string changed = all;
    return refusal_of_bytes(folder, changed.replace(at, bytes.size(), bytes));
  };
  CHECK(with(listed + 10, "\x08").find("compressed") != std::string::npos);
  CHECK(with(listed + 8, "\x09").find("encrypted") != std::string::npos);
  CHECK(with(listed + 42, "\x05").find("no header of an entry") != std::string::npos);
  CHECK(with(30, "S").find("names another entry") != std::string::npos);
  CHECK(with(listed + 20, "\xff\xff\xff\x7f\xff\xff\xff\x7f").find("in front of its directory") !=
        std::string::npos);
}

TEST_CASE("Python's zipfile opens what the writer stores", "[parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3: set HFTRAIN_TEST_PYTHON");
  const TemporaryDirectory folder;
  write_two(folder / "state.pt");
  const testing::PythonResult result = testing::run_python(
      "import sys, zipfile\n"
      "z = zipfile.ZipFile(sys.argv[1])\n"
      "assert z.testzip() is None\n"
      "assert z.namelist() == ['state/data.pkl', 'state/data/0']\n"
      "assert z.read('state/data/0') == bytes(i * 7 % 256 for i in range(1000))\n",
      {folder / "state.pt"});
  INFO(result.output);
  CHECK(result.exit_code == 0);
}

}  // namespace
}  // namespace hftrain::interchange
