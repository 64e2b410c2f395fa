#include "hftrain/metrics/sentences.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace hftrain::metrics {
namespace {

constexpr std::string_view kSpaces = " \t\n\r\v\f";
constexpr std::string_view kOpening = "\"'([{`";
constexpr std::string_view kClosing = "\"')]}";

// Lower case, without the last period.
constexpr std::array<std::string_view, 58> kAbbreviations = {
    "adm",  "al",  "apr", "assn", "aug", "ave", "bros", "capt", "cf",  "cmdr",   "co",  "col",
    "corp", "ct",  "dec", "dept", "dr",  "e.g", "est",  "etc",  "feb", "fig",    "ft",  "gen",
    "gov",  "hon", "i.e", "inc",  "jan", "jr",  "lt",   "ltd",  "maj", "messrs", "mr",  "mrs",
    "ms",   "mt",  "no",  "nov",  "oct", "p.m", "a.m",  "prof", "rep", "rev",    "sen", "sept",
    "sgt",  "sr",  "st",  "u.k",  "u.n", "u.s", "v",    "vol",  "vs",  "ph.d"};

bool is_space(char c) {
  return kSpaces.find(c) != std::string_view::npos;
}

// What stands before a place, back to white space, without opening quotes and brackets; lower case.
std::string word_before(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && !is_space(text[begin - 1])) --begin;
  while (begin < end && kOpening.find(text[begin]) != std::string_view::npos) ++begin;
  std::string word(text.substr(begin, end - begin));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word;
}

// Whether the period at `place`, before a word at `next`, ends no sentence.
bool goes_on(std::string_view text, size_t place, size_t next) {
  if (place > 0 && text[place - 1] == '.') return std::isupper(static_cast<unsigned char>(text[next])) == 0;
  const std::string word = word_before(text, place);
  if (word.size() == 1 && std::isalpha(static_cast<unsigned char>(word.front())) != 0) return true;
  return std::ranges::find(kAbbreviations, word) != kAbbreviations.end();
}

}  // namespace

std::string sentences_on_lines(std::string_view text) {
  std::string lines;
  size_t place = 0;
  while (place < text.size()) {
    const char mark = text[place];
    lines += text[place++];
    if (mark != '.' && mark != '?' && mark != '!') continue;
    size_t end = place;
    while (end < text.size() && kClosing.find(text[end]) != std::string_view::npos) ++end;
    const size_t next = text.find_first_not_of(kSpaces, end);
    if (next == std::string_view::npos || next == end) continue;
    if (mark == '.' && goes_on(text, place - 1, next)) continue;
    lines.append(text.substr(place, end - place)) += '\n';
    place = next;
  }
  return lines;
}

}  // namespace hftrain::metrics
