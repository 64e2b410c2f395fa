#include "hftrain/chat/text_search.h"

#include <algorithm>
#include <cstring>

#include "hftrain/chat/runtime.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

// Beginnings of characters, and the end: where an empty part is found.
std::string put_between(std::string_view text, std::string_view fresh, int64_t count) {
  std::string made;
  for (size_t at = 0; at < text.size();) {
    if (count-- > 0) made += fresh;
    const size_t size = tokenizer::unicode::size_of(text[at]);
    made += text.substr(at, size);
    at += size;
  }
  if (count > 0) made += fresh;
  return made;
}

}  // namespace

// glibc's memmem takes linear time.
size_t find_bytes(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  const void* found = ::memmem(text.data() + from, text.size() - from, part.data(), part.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t find_last_bytes(std::string_view text, std::string_view part) {
  if (part.empty()) return text.size();
  const std::string backwards(text.rbegin(), text.rend()), wanted(part.rbegin(), part.rend());
  const size_t found = find_bytes(backwards, wanted, 0);
  return found == std::string_view::npos ? found : text.size() - found - part.size();
}

int64_t count_of(std::string_view text, std::string_view part) {
  if (part.empty()) return static_cast<int64_t>(tokenizer::unicode::count(text)) + 1;
  int64_t count = 0;
  for (size_t at = 0; (at = find_bytes(text, part, at)) != std::string_view::npos; at += part.size()) ++count;
  return count;
}

std::string replaced(Runtime& runtime, std::string_view text, std::string_view old, std::string_view fresh,
                     int64_t count) {
  runtime.read(text.size());
  const int64_t found = count_of(text, old), times = count < 0 ? found : std::min(found, count);
  runtime.expect(text.size());
  if (!fresh.empty()) runtime.expect(static_cast<uint64_t>(times), fresh.size());
  if (old.empty()) return put_between(text, fresh, times);
  std::string made;
  size_t from = 0;
  for (int64_t i = 0; i < times; ++i) {
    const size_t at = find_bytes(text, old, from);
    made.append(text.substr(from, at - from)).append(fresh);
    from = at + old.size();
  }
  return made.append(text.substr(from));
}

size_t byte_of(const Text& text, int64_t index) {
  if (index >= text.length) return text.bytes.size();
  if (text.is_ascii()) return static_cast<size_t>(index);
  size_t byte = 0;
  for (; index > 0; --index) byte += tokenizer::unicode::size_of(text.bytes[byte]);
  return byte;
}

int64_t character_of(const Text& text, size_t byte) {
  if (text.is_ascii()) return static_cast<int64_t>(byte);
  return static_cast<int64_t>(tokenizer::unicode::count(std::string_view(text.bytes).substr(0, byte)));
}

}  // namespace hftrain::chat
