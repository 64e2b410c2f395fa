#include "hftrain/hub/content_hash.h"

#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

using hftrain::hub::ContentHash;
using hftrain::hub::hash_of_file;
using hftrain::hub::HashKind;

// `git hash-object` and `sha256sum` of the same bytes.
TEST_CASE("content hash: files have the names that git and LFS give them", "[hub]") {
  const hftrain::testing::TemporaryDirectory folder;
  hftrain::write_file_atomically(folder / "empty", "");
  hftrain::write_file_atomically(folder / "hello", "hello\n");
  hftrain::write_file_atomically(folder / "long", std::string(1000000, 'a'));
  CHECK(hash_of_file(folder / "empty", HashKind::kGitBlob) == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  CHECK(hash_of_file(folder / "hello", HashKind::kGitBlob) == "ce013625030ba8dba906f756967f9e9ca394464a");
  CHECK(hash_of_file(folder / "empty", HashKind::kSha256) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash_of_file(folder / "hello", HashKind::kSha256) ==
        "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
  CHECK(hash_of_file(folder / "long", HashKind::kSha256) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK_REFUSED(hash_of_file(folder / "none", HashKind::kSha256), "cannot open");
}

TEST_CASE("content hash: pieces of any length are the same bytes", "[hub]") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i * 7);
  for (const HashKind kind : {HashKind::kGitBlob, HashKind::kSha256}) {
    ContentHash whole(kind, bytes.size());
    whole.update(bytes);
    const std::string expected = whole.hex();
    for (const size_t length : {1, 55, 56, 63, 64, 65, 119, 299}) {
      ContentHash pieces(kind, bytes.size());
      for (size_t at = 0; at < bytes.size(); at += length) pieces.update(bytes.substr(at, length));
      CHECK(pieces.hex() == expected);
    }
  }
}
