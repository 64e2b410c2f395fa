// One side of scripts/bench/tokenizer.py: loads a tokenizer and a text, then encodes the whole text, line by
// line, once for every line on standard input, and prints seconds, bytes and tokens of that pass. With `offsets` it makes
// whole encodings, else ids alone.
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int run(const std::string& tokenizer_folder, const std::string& text_file, bool offsets) {
  const auto begin = std::chrono::steady_clock::now();
  const auto tokenizer = hftrain::tokenizer::Tokenizer::load(tokenizer_folder);
  std::cout << "loaded " << seconds_since(begin) << std::endl;
  const std::string text = hftrain::read_file(text_file);
  std::vector<hftrain::tokenizer::TokenId> ids;
  for (std::string go; std::getline(std::cin, go);) {
    const auto start = std::chrono::steady_clock::now();
    size_t tokens = 0;
    for (size_t i = 0; i < text.size();) {
      const size_t end = std::min(text.find('\n', i), text.size());
      const std::string_view line = std::string_view(text).substr(i, end - i);
      if (offsets) {
        tokens += tokenizer->encode(line, false).size();
      } else {
        ids.clear();
        tokenizer->encode_into(line, false, ids);
        tokens += ids.size();
      }
      i = end + 1;
    }
    std::cout << seconds_since(start) << ' ' << text.size() << ' ' << tokens << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool offsets = argc == 4 && std::string_view(argv[3]) == "offsets";
  if (argc != 3 && !offsets) {
    std::cerr << "usage: bench_tokenizer TOKENIZER_FOLDER TEXT_FILE [offsets]" << std::endl;
    return 2;
  }
  try {
    return run(argv[1], argv[2], offsets);
  } catch (const hftrain::Error& error) {
    std::cerr << error.render() << std::endl;
    return static_cast<int>(error.code());
  }
}
