#include "hftrain/metrics/porter_stemmer.h"

#include <array>
#include <span>
#include <vector>

namespace hftrain::metrics {
namespace {

// A consonant is a letter other than a, e, i, o, u, and other than a y after a consonant.
std::vector<bool> consonants(std::string_view word) {
  std::vector<bool> flags;
  for (const char c : word) {
    const bool is_vowel = std::string_view("aeiou").find(c) != std::string_view::npos;
    flags.push_back(c == 'y' ? flags.empty() || !flags.back() : !is_vowel);
  }
  return flags;
}

// Porter's m: how often a vowel is followed by a consonant.
int measure(std::string_view stem) {
  const std::vector<bool> flags = consonants(stem);
  int count = 0;
  for (size_t i = 1; i < flags.size(); ++i) count += flags[i] && !flags[i - 1];
  return count;
}

bool has_vowel(std::string_view stem) {
  for (const bool is_consonant : consonants(stem)) {
    if (!is_consonant) return true;
  }
  return false;
}

bool ends_in_consonant(std::string_view word) {
  return !word.empty() && consonants(word).back();
}

bool ends_in_double_consonant(std::string_view word) {
  return word.size() >= 2 && word.back() == word[word.size() - 2] && ends_in_consonant(word);
}

// Porter's *o: consonant, vowel, consonant other than w, x and y; NLTK adds words of a vowel and a consonant.
bool ends_in_short_syllable(std::string_view word) {
  const std::vector<bool> flags = consonants(word);
  const size_t n = word.size();
  if (n == 2) return !flags[0] && flags[1];
  return n > 2 && flags[n - 3] && !flags[n - 2] && flags[n - 1] &&
         std::string_view("wxy").find(word.back()) == std::string_view::npos;
}

// Whether a rule applies to the stem that is left without the suffix.
using StemCondition = bool (*)(std::string_view stem);

bool always(std::string_view) {
  return true;
}
bool is_measured(std::string_view stem) {
  return measure(stem) > 0;
}
bool is_long(std::string_view stem) {
  return measure(stem) > 1;
}
bool is_long_before_ion(std::string_view stem) {
  return is_long(stem) && (stem.back() == 's' || stem.back() == 't');
}
bool is_measured_with_l(std::string_view stem) {  // of -logi: the l counts as the stem's
  return is_measured(std::string(stem) + "l");
}
bool is_long_with_l(std::string_view stem) {  // of -ll
  return is_long(std::string(stem) + "l");
}
bool is_consonant_after_letter(std::string_view stem) {
  return stem.size() > 1 && ends_in_consonant(stem);
}

struct SuffixRule {
  std::string_view suffix;
  std::string_view replacement;
  StemCondition condition;
};

// The first rule whose suffix fits decides, whether its condition holds or not.
std::string apply_rules(std::span<const SuffixRule> rules, const std::string& word) {
  for (const SuffixRule& rule : rules) {
    if (!word.ends_with(rule.suffix)) continue;
    const std::string stem = word.substr(0, word.size() - rule.suffix.size());
    return rule.condition(stem) ? stem + std::string(rule.replacement) : word;
  }
  return word;
}

constexpr SuffixRule kPlurals[] = {
    {"sses", "ss", always}, {"ies", "i", always}, {"ss", "ss", always}, {"s", "", always}};
constexpr SuffixRule kFinalY[] = {{"y", "i", is_consonant_after_letter}};
constexpr SuffixRule kDoubleSuffixes[] = {
    {"ational", "ate", is_measured},    {"tional", "tion", is_measured}, {"enci", "ence", is_measured},
    {"anci", "ance", is_measured},      {"izer", "ize", is_measured},    {"bli", "ble", is_measured},
    {"alli", "al", is_measured},        {"entli", "ent", is_measured},   {"eli", "e", is_measured},
    {"ousli", "ous", is_measured},      {"ization", "ize", is_measured}, {"ation", "ate", is_measured},
    {"ator", "ate", is_measured},       {"alism", "al", is_measured},    {"iveness", "ive", is_measured},
    {"fulness", "ful", is_measured},    {"ousness", "ous", is_measured}, {"aliti", "al", is_measured},
    {"iviti", "ive", is_measured},      {"biliti", "ble", is_measured},  {"fulli", "ful", is_measured},
    {"logi", "log", is_measured_with_l}};
constexpr SuffixRule kFullSuffixes[] = {{"icate", "ic", is_measured}, {"ative", "", is_measured},
                                        {"alize", "al", is_measured}, {"iciti", "ic", is_measured},
                                        {"ical", "ic", is_measured},  {"ful", "", is_measured},
                                        {"ness", "", is_measured}};
constexpr SuffixRule kEndings[] = {
    {"al", "", is_long},    {"ance", "", is_long}, {"ence", "", is_long}, {"er", "", is_long},
    {"ic", "", is_long},    {"able", "", is_long}, {"ible", "", is_long}, {"ant", "", is_long},
    {"ement", "", is_long}, {"ment", "", is_long}, {"ent", "", is_long},  {"ion", "", is_long_before_ion},
    {"ou", "", is_long},    {"ism", "", is_long},  {"ate", "", is_long},  {"iti", "", is_long},
    {"ous", "", is_long},   {"ive", "", is_long},  {"ize", "", is_long}};
constexpr SuffixRule kDoubleL[] = {{"ll", "l", is_long_with_l}};

std::string without_plural(const std::string& word) {
  if (word.size() == 4 && word.ends_with("ies")) return word.substr(0, 3);  // dies, ties
  return apply_rules(kPlurals, word);
}

// After -ed or -ing was taken away: what the stem needs to be a word of its own again.
std::string mended(const std::string& stem) {
  for (const std::string_view ending : {"at", "bl", "iz"}) {
    if (stem.ends_with(ending)) return stem + "e";
  }
  if (ends_in_double_consonant(stem)) {
    const bool stays = std::string_view("lsz").find(stem.back()) != std::string_view::npos;
    return stays ? stem : stem.substr(0, stem.size() - 1);
  }
  return measure(stem) == 1 && ends_in_short_syllable(stem) ? stem + "e" : stem;
}

std::string without_past(const std::string& word) {
  if (word.ends_with("ied")) return word.substr(0, word.size() - (word.size() == 4 ? 1 : 2));
  if (word.ends_with("eed")) {
    return is_measured(std::string_view(word).substr(0, word.size() - 3)) ? word.substr(0, word.size() - 1)
                                                                          : word;
  }
  for (const std::string_view suffix : {"ed", "ing"}) {
    if (!word.ends_with(suffix)) continue;
    const std::string stem = word.substr(0, word.size() - suffix.size());
    if (has_vowel(stem)) return mended(stem);
  }
  return word;
}

std::string with_single_suffix(const std::string& word) {
  constexpr std::string_view kAlli = "alli";
  if (word.ends_with(kAlli) && is_measured(std::string_view(word).substr(0, word.size() - kAlli.size()))) {
    return apply_rules(kDoubleSuffixes, word.substr(0, word.size() - 2));
  }
  return apply_rules(kDoubleSuffixes, word);
}

std::string without_final_e(const std::string& word) {
  if (!word.ends_with('e')) return word;
  const std::string stem = word.substr(0, word.size() - 1);
  const int m = measure(stem);
  return m > 1 || (m == 1 && !ends_in_short_syllable(stem)) ? stem : word;
}

// Forms that the rules get wrong.
std::string_view irregular_stem(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kIrregular{{
      {"sky", "sky"},
      {"skies", "sky"},
      {"dying", "die"},
      {"lying", "lie"},
      {"tying", "tie"},
      {"news", "news"},
      {"innings", "inning"},
      {"inning", "inning"},
      {"outings", "outing"},
      {"outing", "outing"},
      {"cannings", "canning"},
      {"canning", "canning"},
      {"howe", "howe"},
      {"proceed", "proceed"},
      {"exceed", "exceed"},
      {"succeed", "succeed"},
  }};
  for (const auto& [form, stem] : kIrregular) {
    if (form == word) return stem;
  }
  return {};
}

}  // namespace

std::string porter_stem(std::string_view word) {
  if (const std::string_view stem = irregular_stem(word); !stem.empty()) return std::string(stem);
  if (word.size() <= 2) return std::string(word);
  std::string stem = without_past(without_plural(std::string(word)));
  stem = with_single_suffix(apply_rules(kFinalY, stem));
  stem = apply_rules(kEndings, apply_rules(kFullSuffixes, stem));
  return apply_rules(kDoubleL, without_final_e(stem));
}

}  // namespace hftrain::metrics
