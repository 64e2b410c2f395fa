// Content hashes: XXH3-128, as 32 lower-case hexadecimal digits. Detects corruption and names cache entries;
// not a cryptographic hash.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace hftrain {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  void update(std::string_view bytes);
  // The digest of all bytes so far; more may follow.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hash_bytes(std::string_view bytes);
// Reads the file sequentially in bounded memory.
// `progress` is told of the bytes of each piece that was read, and may throw.
std::string hash_file(const std::string& path, const std::function<void(uint64_t)>& progress = {});

}  // namespace hftrain
