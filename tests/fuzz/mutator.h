// What libFuzzer does to inputs, for a compiler that has no libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace hftrain::fuzz {

// Makes inputs of others; the same ones after the same reseed(). Used by one thread.
class Mutator {
 public:
  // What inputs of the target are made of.
  void use_words(std::vector<std::string> words) { words_ = std::move(words); }
  void reseed(uint32_t seed) { random_.seed(seed); }
  // Changes the input [0, size) of `data` at one place. Returns the new size, at most `max_size`.
  size_t mutate(uint8_t* data, size_t size, size_t max_size);
  // Below `limit`, which is not 0.
  size_t number(size_t limit) { return random_() % limit; }

 private:
  std::string new_part(const std::string& text);

  std::vector<std::string> words_;
  std::mt19937 random_;
};

// That of this process: LLVMFuzzerMutate, which the targets call, is answered by it.
Mutator& mutator();

// The content of every file of a folder, in the order of their names.
std::vector<std::string> files_of(const std::string& folder);
// The words of a dictionary as libFuzzer reads it: what stands between the quotes of a line, \\, \" and \xAB undone.
// None where there is no such file.
std::vector<std::string> words_of(const std::string& path);

}  // namespace hftrain::fuzz
