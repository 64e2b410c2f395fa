#include "hftrain/base/suggest.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "hftrain/base/text.h"

namespace hftrain {
namespace {

constexpr size_t kMostNames = 3;      // names in a suggestion
constexpr size_t kLongest = 200;      // letters of what is looked up: no name is as long
constexpr size_t kShortestPart = 3;   // letters that stand for the word that they begin
constexpr size_t kShortestWord = 4;   // letters of a word that longer ones may begin with
constexpr size_t kShortestSlip = 4;   // letters of a name in which one wrong letter is a slip
constexpr size_t kShortestLoose = 6;  // letters of a name in which two are
constexpr int kMostUnsaid = 4;        // words of a name that may be missing in what was written
constexpr int kNo = -1;

// learningRate, learning-rate and Learning_Rate are learning_rate.
std::string normalised(std::string_view written) {
  std::string name;
  bool after_small = false;
  for (const char each : written) {
    const auto c = static_cast<unsigned char>(each);
    if (std::isupper(c) != 0 && after_small) name += '_';
    name += c == '-' ? '_' : static_cast<char>(std::tolower(c));
    after_small = std::islower(c) != 0;
  }
  return name;
}

std::string squeezed(std::string_view name) {
  std::string text = normalised(name);
  std::erase(text, '_');
  return text;
}

int allowed_slips(std::string_view name) {
  if (name.size() < kShortestSlip) return 0;
  return name.size() < kShortestLoose ? 1 : std::max<int>(2, static_cast<int>(name.size()) / 6);
}

bool means_word(const std::string& part, const std::string& word) {
  return part == word || (part.size() >= kShortestPart && word.starts_with(part)) ||
         (word.size() >= kShortestWord && part.starts_with(word));
}

using Name = KnownNames::Name;

Name in_its_forms(std::string_view text) {
  std::string normal = normalised(text);
  std::vector<std::string> words = split(normal, '_');
  return {std::string(text), std::move(normal), squeezed(text), std::move(words)};
}

class Suggestions {
 public:
  Suggestions(std::string_view written, const KnownNames& names, std::span<const Synonym> synonyms)
      : written_(in_its_forms(written)), names_(names), synonyms_(synonyms) {}

  std::vector<std::string> find() {
    take_names([&](const Name& name) { return name.squeezed == written_.squeezed ? 0 : kNo; });
    take_synonyms([&](std::string_view word) { return squeezed(word) == written_.squeezed; });
    if (found_.empty()) take_names([&](const Name& name) { return slips(name.text, name.normal); });
    if (found_.empty())
      take_synonyms([&](std::string_view word) { return slips(word, normalised(word)) == 1; });
    if (found_.empty()) take_names([&](const Name& name) { return unsaid(name.words); });
    return std::move(found_);
  }

 private:
  int slips(std::string_view name, std::string_view other) const {
    const std::string& mine = written_.normal;
    const int one = std::max(mine.size(), name.size()) >= kShortestSlip ? 1 : 0;
    const int allowed = std::max(one, std::min(allowed_slips(mine), allowed_slips(name)));
    const auto apart =
        static_cast<int>(std::max(mine.size(), other.size()) - std::min(mine.size(), other.size()));
    if (apart > allowed) return kNo;
    const int distance = edit_distance(mine, other, std::max(allowed, 1));
    if (distance == 1 && changed_places(name)) return distance;
    return distance <= allowed ? distance : kNo;
  }

  // The letters are those of the name, however short it is.
  bool changed_places(std::string_view name) const {
    const std::string& mine = written_.normal;
    return name.size() == mine.size() && std::is_permutation(name.begin(), name.end(), mine.begin());
  }

  // How many words of the name were not written, when all that was written is in it.
  int unsaid(const std::vector<std::string>& words) const {
    if (written_.words.size() > words.size()) return kNo;
    std::vector<bool> said(words.size());
    for (const std::string& part : written_.words) {
      size_t match = 0;
      while (match < words.size() && (said[match] || !means_word(part, words[match]))) ++match;
      if (match == words.size()) return kNo;
      said[match] = true;
    }
    const auto left = static_cast<int>(words.size() - written_.words.size());
    return left <= kMostUnsaid ? left : kNo;
  }

  template <typename Meant>
  void take_synonyms(Meant meant) {
    for (const Synonym& synonym : synonyms_) {
      if (!meant(synonym.word)) continue;
      add(synonym.name);
      add(synonym.other);
    }
  }

  // Those of the lowest score.
  template <typename Score>
  void take_names(Score score) {
    std::vector<std::pair<int, std::string_view>> scored;
    for (const Name& name : names_.all()) {
      if (const int value = score(name); value != kNo) scored.emplace_back(value, name.text);
    }
    std::stable_sort(scored.begin(), scored.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [value, name] : scored) {
      if (value == scored.front().first) add(name);
    }
  }

  void add(std::string_view name) {
    const bool fresh = std::find(found_.begin(), found_.end(), name) == found_.end();
    if (fresh && found_.size() < kMostNames && names_.holds(name)) found_.emplace_back(name);
  }

  const Name written_;
  const KnownNames& names_;
  std::span<const Synonym> synonyms_;
  std::vector<std::string> found_;
};

}  // namespace

KnownNames::KnownNames(std::span<const std::string> names) {
  for (const std::string& name : names) names_.push_back(in_its_forms(name));
}

bool KnownNames::holds(std::string_view text) const {
  return std::any_of(names_.begin(), names_.end(), [&](const Name& name) { return name.text == text; });
}

std::vector<std::string> suggest_names(std::string_view written, const KnownNames& names,
                                       std::span<const Synonym> synonyms) {
  if (written.size() > kLongest) return {};
  return Suggestions(written, names, synonyms).find();
}

std::vector<std::string> suggest_names(std::string_view written, std::span<const std::string> names,
                                       std::span<const Synonym> synonyms) {
  return suggest_names(written, KnownNames(names), synonyms);
}

}  // namespace hftrain
