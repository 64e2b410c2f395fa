#include "hftrain/generation/streamed_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace hftrain::generation {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The length of what two texts have in common, in whole characters.
size_t common_size(std::string_view a, std::string_view b) {
  size_t size = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; };
  while (size > 0 && ((size < a.size() && continues(a[size])) || (size < b.size() && continues(b[size]))))
    --size;
  return size;
}

}  // namespace

StreamedText::StreamedText(DecodeIds decode, std::function<bool(int64_t)> spells)
    : decode_(std::move(decode)), spells_(std::move(spells)) {}

std::string StreamedText::add(int64_t token) {
  ids_.push_back(token);
  if (spells_ && spells_(token)) return "";
  std::string text = decode_(ids_);
  std::string_view sure = std::string_view(text).substr(0, common_size(text_, text));
  while (sure.ends_with(kReplacement)) sure.remove_suffix(kReplacement.size());
  std::string more(sure.substr(std::min(shown_, sure.size())));
  shown_ += more.size();
  text_ = std::move(text);
  return more;
}

std::string StreamedText::finish() {
  const std::string text = decode_(ids_);
  std::string more = text.substr(std::min(shown_, text.size()));
  shown_ += more.size();
  return more;
}

}  // namespace hftrain::generation
