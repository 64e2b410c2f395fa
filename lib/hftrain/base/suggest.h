// Which of the known names a written one means, when it is none of them: for "did you mean".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain {

// A word that people write, and the names that it stands for, the likeliest first.
struct Synonym {
  std::string_view word;
  std::string_view name;
  std::string_view other = {};
};

// Names in the forms that they are looked up by. Made once for a list that is asked often.
class KnownNames {
 public:
  struct Name {
    std::string text;
    std::string normal;              // lower case, words divided by underscores
    std::string squeezed;            // without them
    std::vector<std::string> words;  // between them
    bool by_slip_only = false;
  };
  // Nobody is led to one of `by_slip_only` but by a slip of the hand in that very name.
  explicit KnownNames(std::span<const std::string> names, std::span<const std::string> by_slip_only = {});
  const std::vector<Name>& all() const noexcept { return names_; }
  bool may_stand_for_others(std::string_view text) const;

 private:
  std::vector<Name> names_;
};

// At most three of `names`, the likeliest first; none where nothing comes close. Looked at in turn: synonyms
// and names that differ in dashes, underscores and capitals only; the same without words that say nothing,
// which are `fillers` ("use_lr": "lr"); slips of the hand; synonyms with one slip; and names that have every
// part of the written one ("grad_norm": "max_grad_norm"), unless so many have that one would be a guess.
// Synonyms that stand for no name of `names` do not count.
std::vector<std::string> suggest_names(std::string_view written, const KnownNames& names,
                                       std::span<const Synonym> synonyms = {},
                                       std::span<const std::string_view> fillers = {});
std::vector<std::string> suggest_names(std::string_view written, std::span<const std::string> names,
                                       std::span<const Synonym> synonyms = {});

}  // namespace hftrain
