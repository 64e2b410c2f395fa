#include "hftrain/generation/beam_search.h"

#include <algorithm>

#include "hftrain/generation/beams.h"
#include "hftrain/generation/draws.h"
#include "hftrain/generation/ending.h"
#include "hftrain/generation/probabilities.h"
#include "hftrain/generation/score_processor.h"

namespace hftrain::generation {
namespace {

class BeamSearch {
 public:
  BeamSearch(TokenModel& model, std::span<const Prompt> prompts, const GenerationConfig& config,
             uint64_t seed, const Watchers& watchers)
      : model_(model),
        prompts_(prompts),
        config_(config),
        seed_(seed),
        processors_(make_score_processors(config)),
        ending_(config, watchers),
        texts_(prompts.size()) {
    for (size_t i = 0; i < prompts.size(); ++i)
      beams_.emplace_back(prompts[i].ids, static_cast<int64_t>(i), config);
  }

  std::vector<std::vector<GeneratedText>> run() {
    std::span<const float> scores = model_.start();
    while (true) {
      for (size_t i = 0; i < beams_.size(); ++i) {
        if (beams_[i].done()) continue;
        beams_[i].take(candidates(i, scores));
        if (beams_[i].done()) finish(i);
      }
      if (std::ranges::all_of(beams_, &Beams::done)) return std::move(texts_);
      scores = step();
    }
  }

 private:
  // Log-probabilities after each running beam of a prompt, processed, plus the beam's sum: [beams × vocabulary].
  std::vector<float> sums(size_t prompt, std::span<const float> scores) const {
    const auto width = static_cast<size_t>(model_.vocabulary());
    std::vector<float> all;
    all.reserve(beams_[prompt].running().size() * width);
    for (const Beam& beam : beams_[prompt].running()) {
      const auto row = scores.subspan(static_cast<size_t>(beam.row) * width, width);
      std::vector<float> own(row.begin(), row.end());
      if (!config_.remove_invalid_values) refuse_invalid(own);
      log_softmax(own);
      apply_all(processors_, {beam.ids, prompts_[prompt].ids.size(), prompts_[prompt].source()}, own);
      for (const float value : own) all.push_back(value + beam.score);
    }
    return all;
  }

  std::vector<Candidate> candidates(size_t prompt, std::span<const float> scores) const {
    const std::vector<float> all = sums(prompt, scores);
    const Beams& beams = beams_[prompt];
    const size_t count = std::min(beams.candidates(), all.size());
    const size_t length = beams.running().front().ids.size(), start = prompts_[prompt].ids.size();
    const std::vector<int64_t> best =
        config_.do_sample
            ? draw_without_replacement(all, count, {seed_, prompts_[prompt].number, length - start, 0})
            : largest(all, count);
    std::vector<Candidate> result;
    for (const int64_t place : best) {
      Candidate candidate{place / model_.vocabulary(), place % model_.vocabulary(),
                          all[static_cast<size_t>(place)]};
      Ids ids = beams.running()[static_cast<size_t>(candidate.beam)].ids;
      ids.push_back(candidate.token);
      candidate.ends = ending_.reached(ids, start);
      result.push_back(candidate);
    }
    return result;
  }

  void finish(size_t prompt) {
    const std::vector<Beam>& finished = beams_[prompt].finished();
    for (size_t i = 0; i < static_cast<size_t>(config_.num_return_sequences); ++i) {
      const auto begin = finished[i].ids.begin() + static_cast<std::ptrdiff_t>(prompts_[prompt].ids.size());
      texts_[prompt].push_back({Ids(begin, finished[i].ids.end()), finished[i].score});
    }
  }

  std::span<const float> step() {
    std::vector<int64_t> tokens, parents;
    for (Beams& beams : beams_) {
      if (beams.done()) continue;
      for (Beam& beam : beams.running()) {
        tokens.push_back(beam.ids.back());
        parents.push_back(beam.row);
        beam.row = static_cast<int64_t>(tokens.size()) - 1;
      }
    }
    return model_.next(tokens, parents);
  }

  TokenModel& model_;
  std::span<const Prompt> prompts_;
  const GenerationConfig& config_;
  uint64_t seed_;
  ScoreProcessors processors_;
  Ending ending_;
  std::vector<Beams> beams_;
  std::vector<std::vector<GeneratedText>> texts_;
};

}  // namespace

std::vector<std::vector<GeneratedText>> search_beams(TokenModel& model, std::span<const Prompt> prompts,
                                                     const GenerationConfig& config, uint64_t seed,
                                                     const Watchers& watchers) {
  return BeamSearch(model, prompts, config, seed, watchers).run();
}

}  // namespace hftrain::generation
