#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {

TEST_CASE("logits of a large vocabulary are there chunk by chunk, in training and in evaluation") {
  constexpr int64_t kVocabulary = 50'257, kRow = kVocabulary * 4, kChunk = 256;
  const auto memory = [](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--do_train", "--do_eval"});
    Case run(std::move(flags));
    run.data.validation = SplitFacts{.cache_path = "v", .samples = 99, .tokens = 99 * 64, .exact = true};
    run.model.architecture = architectures::Architecture::from_scratch(
        "gpt2", "vocab_size=50257,n_embd=2,n_head=1,n_layer=1,n_positions=64");
    return run.plan().memory_per_rank;
  };
  const MemoryPlan small = memory({}), whole = memory({"--use_liger_kernel", "false"}),
                   large =
                       memory({"--per_device_train_batch_size", "64", "--per_device_eval_batch_size", "64"});
  CHECK(small.activations > kChunk * kRow);
  CHECK(large.activations < 2 * kChunk * kRow);  // 4096 tokens
  CHECK(large.evaluation < 2 * kChunk * kRow);
  CHECK(whole.activations > 512 * 2 * kRow);  // and their softmax
  CHECK(whole.evaluation > 512 * 2 * kRow);
}

}  // namespace hftrain::plan
