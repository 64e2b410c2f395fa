#include "hftrain/base/hash.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain {

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() { XXH3_128bits_reset(xxh); }
  ~State() { XXH3_freeState(xxh); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;

void Hasher::update(std::string_view bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

std::string Hasher::hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_->xxh));
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string hash_bytes(std::string_view bytes) {
  Hasher hasher;
  hasher.update(bytes);
  return hasher.hex();
}

// Read, not mapped: a file that becomes shorter meanwhile, or a disk that fails, is an Error and no signal.
std::string hash_file(const std::string& path, const std::function<void(uint64_t)>& progress) {
  constexpr size_t kPiece = 1 << 20;
  Hasher hasher;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw system_error(errno, "cannot open", path, ExitCode::kData);
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  const auto piece = std::make_unique_for_overwrite<char[]>(kPiece);
  while (true) {
    const ssize_t count = ::read(file.get(), piece.get(), kPiece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error(errno, "cannot read", path, ExitCode::kData);
    if (count == 0) return hasher.hex();
    hasher.update({piece.get(), static_cast<size_t>(count)});
    if (progress) progress(static_cast<uint64_t>(count));
  }
}

}  // namespace hftrain
