#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {

TEST_CASE("evaluation is in the plan's memory: it grows with the batch and what is kept, not with the data") {
  const auto evaluation = [](std::vector<std::string> flags, int64_t samples) {
    Case one(std::move(flags));
    one.data.validation =
        SplitFacts{.cache_path = "v", .samples = samples, .tokens = samples * 64, .exact = true};
    return one.plan().memory_per_rank.evaluation;
  };
  const std::vector<std::string> evaluates = {"--do_train", "--do_eval"};
  const auto with = [&](const std::string& flag, const std::string& value) {
    std::vector<std::string> flags = evaluates;
    flags.insert(flags.end(), {flag, value});
    return flags;
  };
  const int64_t small = evaluation(evaluates, 100);
  CHECK(small > 0);
  CHECK(evaluation(evaluates, 10'000'000) == small);
  CHECK(evaluation(with("--per_device_eval_batch_size", "64"), 100) > small);
  // 9 more batches of best ids, and all ten once more joined.
  const int64_t kept = evaluation(with("--eval_accumulation_steps", "10"), 100) - small;
  const int64_t one_batch = 8 * Case(evaluates).plan().data.block_size * 8;
  CHECK(kept == 19 * one_batch);
}

}  // namespace hftrain::plan
