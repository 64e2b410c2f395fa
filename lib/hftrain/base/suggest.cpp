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
constexpr size_t kShortestLoose = 6;  // letters of a name in which two are, and of a synonym in which one is
constexpr int kMostUnsaid = 4;        // words of a name that may be missing in what was written
constexpr int kMostUnsaidOfOne = 2;   // where that is a single word
constexpr int kNo = -1;

// learningRate, learning-rate, learning.rate and Learning_Rate are learning_rate.
std::string normalised(std::string_view written) {
  std::string name;
  bool after_small = false;
  for (const char each : written) {
    const auto c = static_cast<unsigned char>(each);
    if (std::isupper(c) != 0 && after_small) name += '_';
    name += c == '-' || c == '.' ? '_' : static_cast<char>(std::tolower(c));
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

// How a written part stands for a word, the nearest first.
enum class Part { kIsOrBegins, kGoesOn, kNot };  // "grad" and "gradient", "evaluation" and "eval"

Part part_of(const std::string& part, const std::string& word) {
  if (part == word || (part.size() >= kShortestPart && word.starts_with(part))) return Part::kIsOrBegins;
  return word.size() >= kShortestWord && part.starts_with(word) ? Part::kGoesOn : Part::kNot;
}

using Name = KnownNames::Name;

Name in_its_forms(std::string_view text) {
  std::string normal = normalised(text);
  std::vector<std::string> words = split(normal, '_');
  return {std::string(text), std::move(normal), squeezed(text), std::move(words), false};
}

// The letters are the same ones, however short the word is.
bool changed_places(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

// In a short word another letter makes another word (use_gpu, use_cpu), and more of them in a longer one
// (train_size, train_file).
bool is_slip_of_word(std::string_view a, std::string_view b) {
  const int allowed = std::min(allowed_slips(a), allowed_slips(b));
  const int distance = edit_distance(a, b, std::max(allowed, 1));
  if (distance <= allowed) return true;
  return distance == 1 && (a.size() != b.size() || changed_places(a, b));
}

bool are_slips_of_words(const std::vector<std::string>& words, const std::vector<std::string>& others) {
  if (words.size() != others.size() || words.size() < 2) return true;  // judged as a whole
  for (size_t i = 0; i < words.size(); ++i) {
    if (!is_slip_of_word(words[i], others[i])) return false;
  }
  return true;
}

class Suggestions {
 public:
  Suggestions(std::string_view written, const KnownNames& names, std::span<const Synonym> synonyms)
      : written_(in_its_forms(written)), names_(names), synonyms_(synonyms) {}

  std::vector<std::string> find(std::span<const std::string_view> fillers) {
    take_same(written_.squeezed);
    if (found_.empty()) take_same(said_without(fillers));
    if (found_.empty()) take_names([&](const Name& name) { return slips(name); });
    if (found_.empty()) take_synonyms([&](std::string_view word) { return is_slip_of_synonym(word); });
    if (found_.empty()) take_longer_names();
    return std::move(found_);
  }

 private:
  void take_same(const std::string& letters) {
    if (letters.empty()) return;
    take_names([&](const Name& name) { return name.squeezed == letters ? 0 : kNo; });
    take_synonyms([&](std::string_view word) { return squeezed(word) == letters; });
  }

  std::string said_without(std::span<const std::string_view> fillers) const {
    std::string said;
    for (const std::string& word : written_.words) {
      if (std::find(fillers.begin(), fillers.end(), word) == fillers.end()) said += word;
    }
    return said;
  }

  int slips(const Name& name) const {
    const std::string& mine = written_.normal;
    const int one = std::max(mine.size(), name.text.size()) >= kShortestSlip ? 1 : 0;
    const int allowed = std::max(one, std::min(allowed_slips(mine), allowed_slips(name.text)));
    const size_t longer = std::max(mine.size(), name.normal.size());
    if (static_cast<int>(longer - std::min(mine.size(), name.normal.size())) > allowed) return kNo;
    const int distance = edit_distance(mine, name.normal, std::max(allowed, 1));
    const bool is_near = distance <= allowed || (distance == 1 && changed_places(name.text, mine));
    return is_near && are_slips_of_words(written_.words, name.words) ? distance : kNo;
  }

  // A short one is in reach of too many words: "mode" is no model, and "text" no test.
  bool is_slip_of_synonym(std::string_view word) const {
    return word.size() >= kShortestLoose && slips(in_its_forms(word)) == 1;
  }

  // How far the name goes beyond what was written, when all of that is in it.
  int unsaid(const Name& name) const {
    if (name.by_slip_only || written_.words.size() > name.words.size()) return kNo;
    std::vector<bool> said(name.words.size());
    int gone_on = 0;
    for (const std::string& part : written_.words) {
      size_t match = 0;
      while (match < said.size() && (said[match] || part_of(part, name.words[match]) == Part::kNot)) ++match;
      if (match == said.size()) return kNo;
      said[match] = true;
      if (part_of(part, name.words[match]) == Part::kGoesOn) ++gone_on;
    }
    const auto left = static_cast<int>(said.size() - written_.words.size());
    const int most = written_.words.size() == 1 ? kMostUnsaidOfOne : kMostUnsaid;
    return left <= most ? 2 * left + gone_on : kNo;
  }

  template <typename Meant>
  void take_synonyms(Meant meant) {
    for (const Synonym& synonym : synonyms_) {
      if (!meant(synonym.word)) continue;
      for (const std::string_view name : {synonym.name, synonym.other}) {
        if (names_.may_stand_for_others(name)) add(name);
      }
    }
  }

  struct Scored {
    std::pair<int, bool> rank;  // the score, then whether the name is found by slips alone
    std::string_view name;
  };

  // Those of the lowest score, in the order of the names.
  template <typename Score>
  std::vector<std::string_view> best_names(Score score) const {
    std::vector<Scored> scored;
    for (const Name& name : names_.all()) {
      const int value = score(name);
      if (value != kNo) scored.push_back({{value, name.by_slip_only}, name.text});
    }
    std::vector<std::string_view> best;
    const auto first = std::ranges::min_element(scored, {}, &Scored::rank);
    for (const Scored& each : scored) {
      if (each.rank == first->rank) best.push_back(each.name);
    }
    return best;
  }

  template <typename Score>
  void take_names(Score score) {
    for (const std::string_view name : best_names(score)) add(name);
  }

  // A prefix shared by too many names suggests none of them.
  void take_longer_names() {
    const std::vector<std::string_view> best = best_names([&](const Name& name) { return unsaid(name); });
    if (best.size() > kMostNames) return;
    for (const std::string_view name : best) add(name);
  }

  void add(std::string_view name) {
    const bool fresh = std::find(found_.begin(), found_.end(), name) == found_.end();
    if (fresh && found_.size() < kMostNames) found_.emplace_back(name);
  }

  const Name written_;
  const KnownNames& names_;
  std::span<const Synonym> synonyms_;
  std::vector<std::string> found_;
};

}  // namespace

KnownNames::KnownNames(std::span<const std::string> names, std::span<const std::string> by_slip_only) {
  for (const std::string& name : names) names_.push_back(in_its_forms(name));
  for (const std::string& name : by_slip_only) {
    names_.push_back(in_its_forms(name));
    names_.back().by_slip_only = true;
  }
}

bool KnownNames::may_stand_for_others(std::string_view text) const {
  return std::any_of(names_.begin(), names_.end(),
                     [&](const Name& name) { return name.text == text && !name.by_slip_only; });
}

std::vector<std::string> suggest_names(std::string_view written, const KnownNames& names,
                                       std::span<const Synonym> synonyms,
                                       std::span<const std::string_view> fillers) {
  if (written.size() > kLongest) return {};
  return Suggestions(written, names, synonyms).find(fillers);
}

std::vector<std::string> suggest_names(std::string_view written, std::span<const std::string> names,
                                       std::span<const Synonym> synonyms) {
  return suggest_names(written, KnownNames(names), synonyms);
}

}  // namespace hftrain
