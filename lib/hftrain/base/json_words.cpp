#include "hftrain/base/json_words.h"

#include "hftrain/base/printable.h"

namespace hftrain {

std::string words_of(const Json::exception& error) {
  constexpr size_t kLongest = 300;
  std::string words = error.what();
  if (const size_t end = words.find("] "); words.starts_with('[') && end != std::string::npos)
    words.erase(0, end + 2);
  return printable(words.size() <= kLongest ? words : words.substr(0, kLongest) + "…");
}

}  // namespace hftrain
