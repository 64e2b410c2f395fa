#include "hftrain/chat/text_pieces.h"

#include <algorithm>

#include "hftrain/chat/text_search.h"
#include "hftrain/tokenizer/unicode/python_text.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

namespace unicode = tokenizer::unicode;

struct InSet {
  std::optional<std::u32string> set;
  bool operator()(char32_t c) const {
    return set ? set->find(c) != std::u32string::npos : unicode::is_python_space(c);
  }
};

// The bytes of the last character of `text`, which is not empty.
size_t size_of_last(std::string_view text) {
  const char* end = text.data() + text.size();
  return static_cast<size_t>(end - unicode::previous(end));
}

std::vector<std::string_view> split_at_blanks(std::string_view text, int64_t limit) {
  std::vector<std::string_view> parts;
  for (text = stripped(text, std::nullopt, Side::kLeft); !text.empty();
       text = stripped(text, std::nullopt, Side::kLeft)) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.push_back(text);  // as it is, blanks at its end with it
      break;
    }
    size_t end = 0;
    while (end < text.size() && !unicode::is_python_space(unicode::decode(text.data() + end))) {
      end += unicode::size_of(text[end]);
    }
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

std::vector<std::string_view> split_at_last_blanks(std::string_view text, int64_t limit) {
  std::vector<std::string_view> parts;
  for (text = stripped(text, std::nullopt, Side::kRight); !text.empty();
       text = stripped(text, std::nullopt, Side::kRight)) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.push_back(text);
      break;
    }
    size_t begin = text.size();
    while (begin > 0 && !unicode::is_python_space(unicode::decode(unicode::previous(text.data() + begin)))) {
      begin -= size_of_last(text.substr(0, begin));
    }
    parts.push_back(text.substr(begin));
    text.remove_suffix(text.size() - begin);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> split_at_words(std::string_view text, std::string_view word, int64_t limit) {
  std::vector<std::string_view> parts;
  size_t from = 0;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t at = find_bytes(text, word, from);
    if (at == text.npos) break;
    parts.push_back(text.substr(from, at - from));
    from = at + word.size();
  }
  parts.push_back(text.substr(from));
  return parts;
}

// From the right: cuts in the text read backwards, where they do not overlap either.
std::vector<std::string_view> split_at_last_words(std::string_view text, std::string_view word,
                                                  int64_t limit) {
  const std::string backwards(text.rbegin(), text.rend()), wanted(word.rbegin(), word.rend());
  std::vector<std::string_view> parts;
  size_t end = text.size();
  for (const std::string_view part : split_at_words(backwards, wanted, limit)) {
    parts.push_back(text.substr(end - part.size(), part.size()));
    end -= std::min(end, part.size() + word.size());
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

bool ends_a_line(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

}  // namespace

std::string_view stripped(std::string_view text, std::optional<std::string_view> set, Side side) {
  InSet in_set;
  if (set) in_set.set = unicode::characters(*set);
  while (side != Side::kRight && !text.empty() && in_set(unicode::decode(text.data()))) {
    text.remove_prefix(unicode::size_of(text[0]));
  }
  while (side != Side::kLeft && !text.empty() &&
         in_set(unicode::decode(unicode::previous(text.data() + text.size())))) {
    text.remove_suffix(size_of_last(text));
  }
  return text;
}

std::vector<std::string_view> split_at(std::string_view text, std::optional<std::string_view> separator,
                                       int64_t limit, Side from) {
  if (separator) {
    return from == Side::kLeft ? split_at_words(text, *separator, limit)
                               : split_at_last_words(text, *separator, limit);
  }
  return from == Side::kLeft ? split_at_blanks(text, limit) : split_at_last_blanks(text, limit);
}

std::vector<std::string_view> lines_of(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t from = 0;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = unicode::decode(text.data() + at);
    const size_t begin = at;
    at += unicode::size_of(text[at]);
    if (!ends_a_line(c)) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(from, (keep_ends ? at : begin) - from));
    from = at;
  }
  if (from < text.size()) lines.push_back(text.substr(from));
  return lines;
}

}  // namespace hftrain::chat
