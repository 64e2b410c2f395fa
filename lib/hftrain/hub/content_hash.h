// The hashes by which the Hub knows files.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace hftrain::hub {

enum class HashKind {
  kSha256,  // of the bytes: files in LFS
  kGitBlob  // SHA-1 of "blob SIZE", a zero byte and the bytes: the others
};

class ContentHash {
 public:
  // `size`: of all bytes that will come.
  ContentHash(HashKind kind, uint64_t size);
  ~ContentHash();
  void update(std::string_view bytes);
  // In lower case; called once, at the end.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads the file in bounded memory. Errors as of read_file(), and kEnvironment once `stop`, which may be null, is true.
std::string hash_of_file(const std::string& path, HashKind kind, const std::atomic<bool>* stop = nullptr);

}  // namespace hftrain::hub
