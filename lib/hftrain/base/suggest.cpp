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

class Suggestions {
 public:
  Suggestions(std::string_view written, std::span<const std::string> names, std::span<const Synonym> synonyms)
      : name_(normalised(written)), squeezed_(squeezed(written)), names_(names), synonyms_(synonyms) {}

  std::vector<std::string> find() {
    const auto same = [&](std::string_view word) { return squeezed(word) == squeezed_ ? 0 : kNo; };
    take_names(same);
    take_synonyms(same);
    if (found_.empty()) take_names([&](std::string_view name) { return slips(name); });
    if (found_.empty()) take_synonyms([&](std::string_view word) { return slips(word) == 1 ? 1 : kNo; });
    if (found_.empty()) take_names([&](std::string_view name) { return unsaid(name); });
    return std::move(found_);
  }

 private:
  int slips(std::string_view name) const {
    const int one = std::max(name_.size(), name.size()) >= kShortestSlip ? 1 : 0;
    const int allowed = std::max(one, std::min(allowed_slips(name_), allowed_slips(name)));
    const std::string other = normalised(name);
    const auto apart =
        static_cast<int>(std::max(name_.size(), other.size()) - std::min(name_.size(), other.size()));
    if (apart > allowed) return kNo;
    const int distance = edit_distance(name_, other, std::max(allowed, 1));
    if (distance == 1 && changed_places(name)) return distance;
    return distance <= allowed ? distance : kNo;
  }

  // The letters are those of the name, however short it is.
  bool changed_places(std::string_view name) const {
    return name.size() == name_.size() && std::is_permutation(name.begin(), name.end(), name_.begin());
  }

  // How many words of the name were not written, when all that was written is in it.
  int unsaid(std::string_view name) const {
    std::vector<std::string> words = split(normalised(name), '_');
    for (const std::string& part : split(name_, '_')) {
      const auto match = std::find_if(words.begin(), words.end(),
                                      [&](const std::string& word) { return means_word(part, word); });
      if (match == words.end()) return kNo;
      words.erase(match);
    }
    const int left = static_cast<int>(words.size());
    return left <= kMostUnsaid ? left : kNo;
  }

  template <typename Score>
  void take_synonyms(Score score) {
    for (const Synonym& synonym : synonyms_) {
      if (score(synonym.word) == kNo) continue;
      add(synonym.name);
      add(synonym.other);
    }
  }

  // Those of the lowest score.
  template <typename Score>
  void take_names(Score score) {
    std::vector<std::pair<int, std::string_view>> scored;
    for (const std::string& name : names_) {
      if (const int value = score(name); value != kNo) scored.emplace_back(value, name);
    }
    std::stable_sort(scored.begin(), scored.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [value, name] : scored) {
      if (value == scored.front().first) add(name);
    }
  }

  void add(std::string_view name) {
    const bool known = std::find(names_.begin(), names_.end(), name) != names_.end();
    const bool fresh = std::find(found_.begin(), found_.end(), name) == found_.end();
    if (known && fresh && found_.size() < kMostNames) found_.emplace_back(name);
  }

  const std::string name_;
  const std::string squeezed_;
  std::span<const std::string> names_;
  std::span<const Synonym> synonyms_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> suggest_names(std::string_view written, std::span<const std::string> names,
                                       std::span<const Synonym> synonyms) {
  if (written.size() > kLongest) return {};
  return Suggestions(written, names, synonyms).find();
}

}  // namespace hftrain
