#include "hftrain/base/hash.h"

#include <xxhash.h>

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

std::string hash_file(const std::string& path) {
  Hasher hasher;
  const MappedFile file(path);
  constexpr size_t kChunk = 16 << 20;
  for (std::string_view rest = file.bytes(); !rest.empty();) {
    hasher.update(rest.substr(0, kChunk));
    rest.remove_prefix(std::min(kChunk, rest.size()));
  }
  return hasher.hex();
}

}  // namespace hftrain
