// Texts of several ranks: what each writes alone, in as many steps as the longest of them takes.
#include "hftrain/trainer/text_writer.h"

#include "comm/rank_processes.h"
#include "hftrain/trainer/steps_together.h"
#include "support/catch.h"

namespace hftrain::trainer {
namespace {

using generation::GenerationConfig;
using generation::Prompt;
using testing::Rank;
using testing::RankBody;

// Says 1 for so many steps, and then 0, the end. Counts its steps.
class CountingModel final : public generation::TokenModel {
 public:
  explicit CountingModel(int64_t until) : until_(until) {}
  int64_t vocabulary() const override { return 3; }
  std::span<const float> start() override { return say(1); }
  std::span<const float> next(std::span<const int64_t> tokens, std::span<const int64_t> parents) override {
    CHECK(tokens.size() == parents.size());
    return say(tokens.size());
  }
  int64_t steps() const { return steps_; }

 private:
  std::span<const float> say(size_t rows) {
    ++steps_;
    scores_.clear();
    for (size_t row = 0; row < rows; ++row)
      scores_.insert(scores_.end(), {steps_ > until_ ? 9.0F : 0.0F, 5.0F, 1.0F});
    return scores_;
  }
  int64_t until_, steps_ = 0;
  std::vector<float> scores_;
};

const RankBody kSteps("ranks take the same number of steps", [](const Rank& rank) {
  const auto group = rank.connect();
  for (const int64_t beams : {1, 2}) {
    for (const int64_t own : {int64_t{2} + 3 * rank.rank(), int64_t{9} - 4 * rank.rank()}) {
      CountingModel model(own);
      StepsTogether together(model, *group, /*filler=*/0);
      GenerationConfig config;
      config.eos_token_id = {0};
      config.num_beams = beams;
      config.max_length = 20;
      const std::vector<Prompt> prompts{{.ids = {2}}};
      const auto texts = generation::generate(together, prompts, config, 0);
      const int64_t needed = model.steps();
      together.finish();
      CHECK(texts[0][0].ids.size() == static_cast<size_t>(own) + 1);
      CHECK(model.steps() == group->maximum(needed));
    }
  }
});

}  // namespace

TEST_CASE("ranks whose texts are complete go on until those of all are", "[process]") {
  require_success(testing::run_ranks("ranks take the same number of steps", 3));
}

}  // namespace hftrain::trainer
