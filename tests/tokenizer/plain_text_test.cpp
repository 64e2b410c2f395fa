// The short way of text whose characters keep to themselves, against the whole pipeline.
#include <random>
#include <string>
#include <vector>

#include "hftrain/tokenizer/character_memo.h"
#include "hftrain/tokenizer/json_part.h"
#include "hftrain/tokenizer/normalizers.h"
#include "hftrain/tokenizer/plain_cut.h"
#include "hftrain/tokenizer/pre_tokenizers.h"
#include "hftrain/tokenizer/space_cuts.h"
#include "hftrain/tokenizer/unicode/utf8.h"
#include "support/catch.h"

namespace hftrain::tokenizer {
namespace {

template <typename Part>
std::shared_ptr<const Part> part_of_json(const std::string& json,
                                         std::shared_ptr<const Part> (*read)(const JsonPart&)) {
  simdjson::dom::parser parser;
  const simdjson::padded_string text(json);
  const std::string file = "tokenizer.json";
  return read(JsonPart(parser.parse(text).value(), file));
}

std::string bert(bool chinese, bool accents, bool small) {
  const auto word = [](bool value) { return std::string(value ? "true" : "false"); };
  return R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": )" + word(chinese) +
         R"(, "strip_accents": )" + word(accents) + R"(, "lowercase": )" + word(small) + "}";
}

std::string sequence_of(const std::string& parts) {
  return R"({"type": "Sequence", "normalizers": [)" + parts + "]}";
}

std::string type(const std::string& name) {
  return R"({"type": ")" + name + R"("})";
}

const std::string kAlbert =
    sequence_of(R"({"type": "Replace", "pattern": {"String": "``"}, "content": "\""}, )" + type("NFKD") +
                ", " + type("StripAccents") + ", " + type("Lowercase"));

// What joins, splits, vanishes, grows and is sorted, and what does none of it.
const std::vector<std::string> kOdd = {
    "a",      "Q",    "é",          "e\u0301", " ",      "  ", "\n",         "\u0301",     "\u0323",
    "\u0344", "क",    "\u094d",     "\u093c",  "\u0902", "ำ",  "\u1100",     "\u1161",     "\u11a8",
    "가",     "각",   "\U0001f1f7", "👨",       "©",      "™",  "\u200d",     "\u200b",     "ﬁ",
    "㌀",     "！",   "中",         "\uF900",  "ｶ",      "ﾞ",  "か",         "\u3099",     "İ",
    "``",     "`",    "½",          "?",       ",",      "Å",  "\u1e9b",     "▁",          "\u0f73",
    "\u302e", "\x01", "\xc2\xad",   "ß",       "Σ",      "ﷺ",  "\U0001d15e", "\U0001d165", "\U0001F642"};

std::string odd_text(std::mt19937& random) {
  std::string text;
  for (size_t i = 1 + random() % 8; i > 0; --i) text += kOdd[random() % kOdd.size()];
  return text;
}

// Whether `plain` is the text with its origins; prints nothing, so that many can be asked about.
bool is_same(const PlainText& plain, const AlignedText& text) {
  if (plain.text != text.text() || text.is_skewed()) return false;
  for (size_t i = 0; i < plain.text.size(); ++i) {
    const std::pair<size_t, size_t> origin(plain.origins[i].begin, plain.origins[i].end);
    if (origin != text.original_of(i, i + 1)) return false;
  }
  return true;
}

// How many of the texts were short ways; fails where one differs.
size_t short_ways(const Normalizer& normalizer, const std::vector<std::string>& texts) {
  CharacterMemo memo;
  PlainText plain;
  size_t taken = 0;
  for (const std::string& original : texts) {
    if (!memo.normalize(&normalizer, original, plain)) continue;
    ++taken;
    AlignedText text(original);
    normalizer.normalize(text);
    if (!is_same(plain, text))
      FAIL_CHECK("'" << original << "' became '" << plain.text << "', not '" << text.text() << "'");
  }
  return taken;
}

std::vector<std::string> odd_texts(size_t count) {
  std::mt19937 random(17);
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) texts.push_back(odd_text(random));
  return texts;
}

}  // namespace

TEST_CASE("characters that a normalizer keeps apart become the same together as alone") {
  std::vector<std::string> texts = odd_texts(20'000);
  for (char32_t c = 1; c < 0x20000; ++c) {  // each beside one that could be joined to it
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = c % 2 == 0 ? "e" : "가";
    unicode::append(c, text);
    texts.push_back(text + (c % 3 == 0 ? "か" : "é"));
  }
  for (const std::string& json :
       {bert(true, true, true), bert(true, false, false), bert(false, true, false), kAlbert, type("NFC"),
        type("NFD"), type("NFKC"), type("NFKD"), type("Lowercase"), type("StripAccents"), type("Nmt"),
        sequence_of(type("Nmt") + ", " + type("NFKC"))}) {
    INFO(json);
    const auto normalizer = part_of_json(json, read_normalizer);
    REQUIRE(normalizer->works_between_spaces());
    CHECK(short_ways(*normalizer, texts) > texts.size() / 2);
    CHECK(short_ways(*normalizer, {"river", "größer", "東京", "Ünïcode, 12"}) == 4);
  }
}

TEST_CASE("marks, what they may join and what is joined by a mark take the long way") {
  const auto nfc = part_of_json(type("NFC"), read_normalizer);
  CHECK(short_ways(*nfc, {"e\u0301", "\u1100\u1161", "か\u3099"}) == 0);
  const auto replace = part_of_json(kAlbert, read_normalizer);
  CHECK(short_ways(*replace, {"`a", "a``b"}) == 0);
}

TEST_CASE("plain cuts are those of the pre-tokenizer") {
  const std::string marks =
      R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true})";
  const std::string bare =
      R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true})";
  std::vector<std::string> texts = odd_texts(5'000);
  for (const char* text : {" a", "a ", "  ", "a  b", "▁a", "▁▁", "a▁ ▁b", "a,b", ",,", "don't", "中 文"})
    texts.emplace_back(text);
  for (const std::string& json :
       {type("BertPreTokenizer"), type("Whitespace"), type("WhitespaceSplit"), marks, bare,
        R"({"type": "Sequence", "pretokenizers": [)" + type("WhitespaceSplit") + ", " + marks + "]}"}) {
    INFO(json);
    const auto pre_tokenizer = part_of_json(json, read_pre_tokenizer);
    const auto cut = pre_tokenizer->plain_cut();
    REQUIRE(cut);
    CharacterMemo memo;
    PlainText plain, marked;
    for (const std::string& text : texts) {
      REQUIRE(memo.normalize(nullptr, text, plain));
      const PlainText& parts = cut_plain(*cut, plain, marked) ? marked : plain;
      std::vector<AlignedText> pieces = {AlignedText(text)};
      pre_tokenizer->cut(pieces);
      REQUIRE(parts.pieces.size() == pieces.size());
      for (size_t i = 0; i < pieces.size(); ++i) {
        const PlainText::Range range = parts.pieces[i];
        REQUIRE(parts.piece(range) == pieces[i].text());
        REQUIRE(
            std::pair<size_t, size_t>(parts.origins[range.begin].begin, parts.origins[range.end - 1].end) ==
            pieces[i].original_of(0, pieces[i].text().size()));
      }
    }
  }
}

TEST_CASE("text is cut at spaces between what stands alone, and around Chinese characters when asked") {
  const auto cuts = [](std::string_view text, bool around_han) {
    std::string all;
    for (size_t begin = 0, end; begin < text.size(); begin = end) {
      end = next_cut(text, begin, around_han);
      all.append(text.substr(begin, end - begin)).append("|");
    }
    return all;
  };
  CHECK(cuts("ab  cd é", false) == "ab | cd| é|");
  CHECK(cuts("a \u0301b", false) == "a \u0301b|");
  CHECK(cuts("か \u3099カ ナ", false) == "か \u3099カ| ナ|");
  CHECK(cuts("東京a。か", false) == "東京a。か|");
  CHECK(cuts("東京a。か中か", true) == "東|京|a。か|中|か|");
  CHECK(cuts("東 京\u3099a", true) == "東| 京\u3099a|");
  CHECK(cuts(" \uF900東", true) ==
        " \uF900東|");  // a compatible one may become another, and stays with what is beside it
  CHECK(cuts("䷀東", true) == "䷀|東|");
}

}  // namespace hftrain::tokenizer
