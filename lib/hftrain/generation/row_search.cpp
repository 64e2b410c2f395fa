#include "hftrain/generation/row_search.h"

#include <algorithm>

#include "hftrain/generation/draws.h"
#include "hftrain/generation/ending.h"
#include "hftrain/generation/score_processor.h"

namespace hftrain::generation {
namespace {

struct Row {
  size_t prompt = 0;   // of the prompts
  size_t which = 0;    // of the texts for it
  int64_t parent = 0;  // its number in the model's last call
  Ids ids;             // with the prompt
};

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
  // Every row gets its next token; those that are complete leave.
  void choose(std::span<const float> scores) {
    const auto width = static_cast<size_t>(model_.vocabulary());
    std::vector<Row> going_on;
    for (Row& row : live_) {
      const auto first =
          scores.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(row.parent) * width);
      row.ids.push_back(
          choose_token(row, std::vector<float>(first, first + static_cast<std::ptrdiff_t>(width))));
      if (watchers_.token && row.which == 0) watchers_.token(row.prompt, row.ids.back());
      const Prompt& prompt = prompts_[row.prompt];
      if (ending_.reached(row.ids, prompt.ids.size())) {
        texts_[row.prompt][row.which].ids.assign(
            row.ids.begin() + static_cast<std::ptrdiff_t>(prompt.ids.size()), row.ids.end());
      } else {
        going_on.push_back(std::move(row));
      }
    }
    live_ = std::move(going_on);
  }

  int64_t choose_token(const Row& row, std::vector<float> scores) const {
    const Prompt& prompt = prompts_[row.prompt];
    const RowSoFar so_far{row.ids, prompt.ids.size(), prompt.source()};
    if (!config_.remove_invalid_values) refuse_invalid(scores);
    apply_all(processors_, so_far, scores);
    if (!config_.do_sample) return std::ranges::max_element(scores) - scores.begin();
    const auto texts = static_cast<uint64_t>(config_.num_return_sequences);
    return draw_token(scores, {.seed = seed_,
                               .text = prompt.number * texts + row.which,
                               .step = static_cast<uint64_t>(so_far.generated())});
  }

  std::span<const float> step() {
    std::vector<int64_t> tokens, parents;
    for (Row& row : live_) {
      tokens.push_back(row.ids.back());
      parents.push_back(row.parent);
      row.parent = static_cast<int64_t>(tokens.size()) - 1;
    }
    return model_.next(tokens, parents);
  }

  TokenModel& model_;
  std::span<const Prompt> prompts_;
  const GenerationConfig& config_;
  uint64_t seed_;
  const Watchers& watchers_;
  ScoreProcessors processors_;
  Ending ending_;
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
