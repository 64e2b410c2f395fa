#include "hftrain/generation/row_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/generation/drafts.h"
#include "hftrain/generation/draws.h"
#include "hftrain/generation/ending.h"
#include "hftrain/generation/probabilities.h"
#include "hftrain/generation/score_processor.h"

namespace hftrain::generation {
namespace {

struct Row {
  size_t prompt = 0;   // of the prompts
  size_t which = 0;    // of the texts for it
  int64_t parent = 0;  // its number in the model's last call
  Ids ids;             // with the prompt
  Ids draft = {};      // what the model has read behind them in its last call
};

constexpr size_t kMostForeseen = 15;

size_t longest_draft(size_t ahead, const std::optional<int64_t>& asked) {
  return std::min(ahead - 1, static_cast<size_t>(asked.value_or(0)));
}

size_t longest_match(int64_t asked) {
  return asked == 0 ? kLongestMatch : static_cast<size_t>(asked);
}

class RowSearch {
 public:
  RowSearch(TokenModel& model, std::span<const Prompt> prompts, const GenerationConfig& config, uint64_t seed,
            const Watchers& watchers)
      : model_(model),
        prompts_(prompts),
        config_(config),
        seed_(seed),
        watchers_(watchers),
        processors_(make_score_processors(config)),
        ending_(config, watchers),
        drafts_(longest_draft(model.ahead(), config.prompt_lookup_num_tokens),
                longest_match(config.max_matching_ngram_size)),
        foresight_(std::min(model.ahead() - 1, kMostForeseen)),
        texts_(prompts.size(), std::vector<GeneratedText>(static_cast<size_t>(config.num_return_sequences))) {
  }

  std::vector<std::vector<GeneratedText>> run() {
    std::span<const float> scores = model_.start();
    for (size_t prompt = 0; prompt < prompts_.size(); ++prompt) {
      for (size_t which = 0; which < texts_[prompt].size(); ++which)
        live_.push_back({prompt, which, static_cast<int64_t>(prompt), prompts_[prompt].ids});
    }
    while (true) {
      choose(scores);
      if (live_.empty()) return std::move(texts_);
      scores = step();
    }
  }

 private:
  // Every row gets its next token, and those that its draft foresaw; rows that are complete leave.
  void choose(std::span<const float> scores) {
    std::vector<Row> going_on;
    for (Row& row : live_) {
      if (goes_on(row, scores)) going_on.push_back(std::move(row));
    }
    live_ = std::move(going_on);
  }

  bool goes_on(Row& row, std::span<const float> scores) {
    const Ids draft = std::exchange(row.draft, {});
    size_t taken = 0;
    bool complete = extend(row, scores);
    while (!complete && taken < draft.size() && row.ids.back() == draft[taken]) {
      ++taken;
      ++row.parent;
      complete = extend(row, scores);
    }
    if (!draft.empty()) learn(draft.size(), taken);
    return !complete;
  }

  void learn(size_t offered, size_t taken) {
    if (foreseen_) {
      foresight_.learn(offered, taken);
    } else {
      drafts_.learn(offered, taken);
    }
  }

  // One more token for a row; whether its text is complete.
  bool extend(Row& row, std::span<const float> scores) {
    const auto width = static_cast<size_t>(model_.vocabulary());
    const auto own = scores.subspan(static_cast<size_t>(row.parent) * width, width);
    row.ids.push_back(choose_token(row, own));
    if (watchers_.token && row.which == 0) watchers_.token(row.prompt, row.ids.back());
    const size_t prompt = prompts_[row.prompt].ids.size();
    if (!ending_.reached(row.ids, prompt)) return false;
    texts_[row.prompt][row.which].ids.assign(row.ids.begin() + static_cast<std::ptrdiff_t>(prompt),
                                             row.ids.end());
    return true;
  }

  int64_t choose_token(const Row& row, std::span<const float> given) {
    const Prompt& prompt = prompts_[row.prompt];
    const RowSoFar so_far{row.ids, prompt.ids.size(), prompt.source()};
    if (!config_.remove_invalid_values) refuse_invalid(given);
    const std::span<const float> scores = processed(so_far, given);
    if (!config_.do_sample) return position_of_largest(scores);
    const auto texts = static_cast<uint64_t>(config_.num_return_sequences);
    return draw_token(scores, {.seed = seed_,
                               .text = prompt.number * texts + row.which,
                               .step = static_cast<uint64_t>(so_far.generated())});
  }

  // Valid until the next call.
  std::span<const float> processed(const RowSoFar& row, std::span<const float> scores) {
    if (processors_.empty()) return scores;
    processed_.assign(scores.begin(), scores.end());
    apply_all(processors_, row, processed_);
    return processed_;
  }

  std::span<const float> step() {
    if (live_.size() == 1) live_.front().draft = draft_for(live_.front());
    if (!live_.front().draft.empty()) return step_ahead(live_.front());
    std::vector<int64_t> tokens, parents;
    for (Row& row : live_) {
      tokens.push_back(row.ids.back());
      parents.push_back(row.parent);
      row.parent = static_cast<int64_t>(tokens.size()) - 1;
    }
    return timed(tokens.size() == 1 ? 1 : 0, [&] { return model_.next(tokens, parents); });
  }

  // `rows` of the text that is left; 0: there are others.
  template <typename Read>
  std::span<const float> timed(size_t rows, const Read& read) {
    const double begin = monotonic_seconds();
    const std::span<const float> scores = read();
    if (rows > 0) seen_.step(rows, monotonic_seconds() - begin);
    return scores;
  }

  // Its last token may not be read (a model may have no place for it), and is never drafted.
  Ids draft_for(Row& row) {
    const auto prompt = static_cast<int64_t>(prompts_[row.prompt].ids.size());
    const int64_t left = prompt + config_.most_new_tokens(prompt) - static_cast<int64_t>(row.ids.size());
    const auto room = static_cast<size_t>(left - 1);
    const size_t count = foreseen(row, room);
    Ids draft = drafts_.next(row.ids, room);
    foreseen_ = draft.size() < std::max<size_t>(1, count);  // a guess costs nothing, but is right less often
    return foreseen_ ? foresee(row, count) : draft;
  }

  size_t foreseen(const Row& row, size_t room) {
    using Foresees = TokenModel::Foresees;
    const Foresees worth = model_.foresees(row.ids.size() - prompts_[row.prompt].ids.size(), room);
    if (worth == Foresees::kNever || (worth != Foresees::kAlways && !seen_.knows_steps())) return 0;
    return foresight_.next(room, worth == Foresees::kAlways ? DraftCosts() : seen_.costs());
  }

  // What the model's quicker reading would choose by the same rules and random numbers.
  Ids foresee(Row& row, size_t count) {
    const size_t prompt = prompts_[row.prompt].ids.size();
    Row ahead = row;
    Ids draft;
    while (draft.size() < count && (draft.empty() || !ending_.reached(ahead.ids, prompt))) {
      const double begin = monotonic_seconds();
      const std::span<const float> scores = model_.draft(ahead.ids.back(), std::exchange(row.parent, 0));
      const double read = monotonic_seconds();
      if (!are_numbers(scores)) break;
      ahead.ids.push_back(choose_token(ahead, scores));
      draft.push_back(ahead.ids.back());
      seen_.draft(read - begin, monotonic_seconds() - read);
    }
    return draft;
  }

  std::span<const float> step_ahead(Row& row) {
    Ids tokens{row.ids.back()};
    tokens.insert(tokens.end(), row.draft.begin(), row.draft.end());
    const int64_t parent = std::exchange(row.parent, 0);
    return timed(tokens.size(), [&] { return model_.next_of(tokens, parent); });
  }

  TokenModel& model_;
  std::span<const Prompt> prompts_;
  const GenerationConfig& config_;
  uint64_t seed_;
  const Watchers& watchers_;
  ScoreProcessors processors_;
  Ending ending_;
  Drafts drafts_;  // of the last text that is being written
  Foresight foresight_;
  SeenCosts seen_;
  bool foreseen_ = false;  // whether its draft is the model's
  std::vector<float> processed_;
  std::vector<Row> live_;
  std::vector<std::vector<GeneratedText>> texts_;
};

}  // namespace

std::vector<std::vector<GeneratedText>> search_rows(TokenModel& model, std::span<const Prompt> prompts,
                                                    const GenerationConfig& config, uint64_t seed,
                                                    const Watchers& watchers) {
  return RowSearch(model, prompts, config, seed, watchers).run();
}

}  // namespace hftrain::generation
