#include "hftrain/base/hash.h"

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain {
namespace {

TEST_CASE("the digest is XXH3-128 in its canonical form") {
  // Known answer of the reference implementation for the empty input.
  CHECK(hash_bytes("") == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("pieces, the whole and the file hash alike; one flipped bit does not") {
  const testing::TemporaryDirectory folder;
  std::string text(100'000, 'x');
  write_file_atomically(folder / "f", text);
  Hasher hasher;
  hasher.update(std::string_view(text).substr(0, 777));
  hasher.update(std::string_view(text).substr(777));
  CHECK(hasher.hex() == hash_bytes(text));
  CHECK(hash_file(folder / "f") == hash_bytes(text));
  text[50'000] ^= 1;
  CHECK(hasher.hex() != hash_bytes(text));
}

}  // namespace
}  // namespace hftrain
