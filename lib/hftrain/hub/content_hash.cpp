#include "hftrain/hub/content_hash.h"

#include <fcntl.h>
#include <sodium/crypto_hash_sha256.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/hub/sha1.h"

namespace hftrain::hub {
namespace {

template <size_t kSize>
std::string hexadecimal(const std::array<uint8_t, kSize>& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

struct ContentHash::State {
  HashKind kind = HashKind::kSha256;
  Sha1 sha1;
  crypto_hash_sha256_state sha256 = {};
};

ContentHash::ContentHash(HashKind kind, uint64_t size) : state_(std::make_unique<State>()) {
  state_->kind = kind;
  ::crypto_hash_sha256_init(&state_->sha256);
  if (kind == HashKind::kGitBlob) update("blob " + std::to_string(size) + std::string(1, '\0'));
}

ContentHash::~ContentHash() = default;

void ContentHash::update(std::string_view bytes) {
  if (state_->kind == HashKind::kGitBlob) {
    state_->sha1.update(bytes);
  } else {
    ::crypto_hash_sha256_update(&state_->sha256, reinterpret_cast<const unsigned char*>(bytes.data()),
                                bytes.size());
  }
}

std::string ContentHash::hex() {
  if (state_->kind == HashKind::kGitBlob) return hexadecimal(state_->sha1.digest());
  std::array<uint8_t, crypto_hash_sha256_BYTES> digest{};
  ::crypto_hash_sha256_final(&state_->sha256, digest.data());
  return hexadecimal(digest);
}

std::string hash_of_file(const std::string& path, HashKind kind, const std::atomic<bool>* stop) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0)
    throw system_error(errno, "cannot open", path, ExitCode::kData);
  ContentHash hash(kind, static_cast<uint64_t>(status.st_size));
  std::vector<char> buffer(size_t{1} << 20);
  for (;;) {
    if (stop != nullptr && *stop)
      throw Error(ExitCode::kEnvironment, "a file was not read to its end")
          .where(path)
          .why("it was stopped")
          .hint("start again");
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error(errno, "cannot read", path, ExitCode::kData);
    if (got == 0) return hash.hex();
    hash.update({buffer.data(), static_cast<size_t>(got)});
  }
}

}  // namespace hftrain::hub
