#include "mutator.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace hftrain::fuzz {
namespace {

constexpr size_t kLongestPart = 16;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

char escaped(std::string_view text, size_t& place) {
  const char next = text[++place];
  if (next != 'x') return next;
  unsigned value = 0;
  std::from_chars(text.data() + place + 1, text.data() + place + 3, value, 16);
  place += 2;
  return static_cast<char>(value);
}

std::string word_of(std::string_view line) {
  std::string word;
  const size_t end = line.rfind('"');
  for (size_t i = line.find('"') + 1; i < end; ++i) word += line[i] == '\\' ? escaped(line, i) : line[i];
  return word;
}

}  // namespace

// A word of the target, a few bytes of the input itself, or anything.
std::string Mutator::new_part(const std::string& text) {
  const size_t way = number(4);
  if (way < 2 && !words_.empty()) return words_[number(words_.size())];
  const size_t length = 1 + number(kLongestPart);
  if (way == 2 && !text.empty()) return text.substr(number(text.size()), length);
  std::string part(way == 3 ? 1 : length, '\0');
  for (char& byte : part) byte = static_cast<char>(number(256));
  return part;
}

size_t Mutator::mutate(uint8_t* data, size_t size, size_t max_size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  const size_t place = number(size + 1);
  const size_t length = std::min(size - place, 1 + number(kLongestPart));
  switch (number(4)) {
    case 0:
      text.insert(place, new_part(text));
      break;
    case 1:
      text.replace(place, length, new_part(text));
      break;
    case 2:
      text.erase(place, length);
      break;
    default:
      if (place < size) text[place] = static_cast<char>(text[place] ^ (1 << number(8)));
  }
  text.resize(std::min(text.size(), max_size));
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

Mutator& mutator() {
  static Mutator mutator;
  return mutator;
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::filesystem::path> paths(std::filesystem::directory_iterator{folder}, {});
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  std::transform(paths.begin(), paths.end(), std::back_inserter(files), content_of);
  return files;
}

std::vector<std::string> words_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#') && std::count(line.begin(), line.end(), '"') >= 2)
      words.push_back(word_of(line));
  }
  return words;
}

}  // namespace hftrain::fuzz

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  return hftrain::fuzz::mutator().mutate(data, size, max_size);
}
