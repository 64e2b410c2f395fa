#include "hftrain/data/sample_sequences.h"

#include <array>
#include <span>
#include <string_view>

#include "hftrain/data/split_mix.h"

namespace hftrain::data {
namespace {

// A word and what stands for it in the translation.
struct CipherWord {
  std::string_view plain, cipher;
};
using CipherWords = std::span<const CipherWord>;

constexpr CipherWord kOwners[] = {{"my", "ro"}, {"your", "ta"}, {"our", "ke"}, {"this", "lu"}};
constexpr CipherWord kActors[] = {
    {"fox", "bim"}, {"owl", "dap"}, {"hen", "gol"}, {"crow", "fen"}, {"wolf", "sut"}};
constexpr CipherWord kDeeds[] = {{"sleeps", "noma"}, {"sings", "vika"}, {"waits", "pelo"}, {"runs", "zuri"}};
constexpr CipherWord kTimesOfDay[] = {{"today", "isk"}, {"again", "ulm"}, {"alone", "orf"}};
constexpr std::array<CipherWords, 4> kSentenceWords = {kOwners, kActors, kDeeds, kTimesOfDay};

struct CipherSentence {
  std::string plain, cipher;
};

CipherSentence draw_sentence(SplitMix64& random) {
  CipherSentence sentence;
  for (const CipherWords words : kSentenceWords) {
    const CipherWord& word = words[random.below(words.size())];
    if (!sentence.plain.empty()) sentence.plain += ' ', sentence.cipher += ' ';
    sentence.plain += word.plain;
    sentence.cipher += word.cipher;
  }
  return sentence;
}

std::string draw_pair(SplitMix64& random) {
  constexpr uint64_t kFewest = 2, kSpread = 2;  // sentences of a text
  const uint64_t sentences = kFewest + random.below(kSpread), marked = random.below(sentences);
  std::string text, summary;
  for (uint64_t i = 0; i < sentences; ++i) {
    const std::string sentence = draw_sentence(random).plain;
    if (i == marked) summary = sentence;
    text += (i > 0 ? ", " : "") + std::string(i == marked ? "note " : "") + sentence;
  }
  const CipherSentence translated = draw_sentence(random);
  return R"({"text": ")" + text + R"(", "summary": ")" + summary + R"(", "translation": {"plain": ")" +
         translated.plain + R"(", "cipher": ")" + translated.cipher + "\"}}\n";
}

}  // namespace

std::string sample_sequences(uint64_t seed, int64_t bytes) {
  SplitMix64 random(seed);
  std::string rows = draw_pair(random);
  while (true) {
    const std::string row = draw_pair(random);
    if (static_cast<int64_t>(rows.size() + row.size()) > bytes) return rows;
    rows += row;
  }
}

}  // namespace hftrain::data
