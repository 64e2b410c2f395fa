#include "hftrain/storage/watched_file_system.h"

#include <atomic>

#include "hftrain/base/file.h"
#include "hftrain/storage/manifest.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {

TEST_CASE("written and verified bytes are told of", "[storage]") {
  const testing::TemporaryDirectory folder;
  PosixFileSystem real;
  std::atomic<uint64_t> told = 0;
  WatchedFileSystem files(real, [&](uint64_t bytes) { told += bytes; });
  const std::string path = folder / "file";
  const auto file = files.create(path);
  file->write("12345");
  CHECK(told == 5);
  file->write("678");
  file->sync();
  CHECK(told == 8);
  const Verification check = verify_files(folder.path(), {{"file", 8, hash_bytes("12345678")}}, 2,
                                          [&](uint64_t bytes) { told += bytes; });
  CHECK(check.ok);
  CHECK(told == 16);
}

TEST_CASE("a file that goes to the disk while it is written is whole", "[storage]") {
  const testing::TemporaryDirectory folder;
  PosixFileSystem files;
  const std::string path = folder / "large";
  Hasher hasher;
  const auto file = files.create(path);
  constexpr int kPieces = 23;
  for (int i = 0; i < kPieces; ++i) {  // 161 MiB: several times what is on its way at once
    const std::string piece(size_t{7} << 20, static_cast<char>('a' + i));
    file->write(piece);
    hasher.update(piece);
  }
  file->sync();
  CHECK(hash_file(path) == hasher.hex());
}

}  // namespace hftrain::storage
