#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {

TEST_CASE("the memory of an encoder and a decoder counts the blocks of both") {
  const auto activations = [](const std::string& more, std::vector<std::string> flags = {}) {
    Case run(std::move(flags));
    run.model.architecture = two_stacks("bart",
                                        "max_position_embeddings=64,encoder_attention_heads=2,"
                                        "decoder_attention_heads=2,encoder_ffn_dim=16,decoder_ffn_dim=16," +
                                            more);
    return run.plan().memory_per_rank.activations;
  };
  const int64_t one = activations("encoder_layers=1,decoder_layers=1");
  const int64_t encoder = activations("encoder_layers=2,decoder_layers=1") - one;
  const int64_t decoder = activations("encoder_layers=1,decoder_layers=2") - one;
  CHECK(encoder == 8 * 64 * ((8 * 8 + 2 * 16) * 4 + 2 * 8));  // of what dropouts left a byte each
  CHECK(decoder == encoder + 8 * 64 * ((4 * 8 + 2 * 8) * 4 + 8));
  CHECK(activations("encoder_layers=9,decoder_layers=9", {"--gradient_checkpointing"}) <
        activations("encoder_layers=9,decoder_layers=9"));
}

TEST_CASE(
    "what attention keeps in float32 where bfloat16 is widened counts, and the weights of the form that has "
    "them") {
  const auto of_dropout = [](const std::string& dropout) {
    return architectures::Architecture::from_scratch(
        "gpt2", "n_layer=2,n_embd=8,n_head=2,vocab_size=100,n_positions=64,attn_pdrop=" + dropout);
  };
  const auto activations = [&](const std::string& dropout, bool widens, std::vector<std::string> flags) {
    Case run(std::move(flags));
    run.model.architecture = of_dropout(dropout);
    run.topology.host.widens_bfloat16 = widens;
    return run.plan().memory_per_rank.activations;
  };
  const auto more = [&](const std::string& dropout) {
    return activations(dropout, true, {"--bf16"}) - activations(dropout, false, {"--bf16"});
  };
  constexpr int64_t kTokens = 8 * 64, kBlocks = 2 + 1;  // one more for the gradients
  CHECK(more("0.0") == kBlocks * kTokens * 8 * 4);
  CHECK(activations("0.0", true, {}) == activations("0.0", false, {}));
  // The form that has the weights computes in float32 on every processor.
  CHECK(more("0.1") == 0);
  CHECK(activations("0.1", false, {"--bf16"}) - activations("0.0", false, {"--bf16"}) ==
        kBlocks * kTokens * (3 * 8 * 2 + 3 * 2 * 64 * 4));
  Case several({"--bf16"});
  several.model.architecture = of_dropout("0.0");
  several.agents = like_this_one({.topology = several.topology, .cores = {0, 1}}, 2);
  const int64_t narrow = several.plan().memory_per_rank.activations;
  several.agents[1].topology.host.widens_bfloat16 = true;  // of one machine of two
  CHECK(several.plan().memory_per_rank.activations > narrow);
}

TEST_CASE("weights that attention drops out are in the plan where they are kept: in training on a CPU") {
  const auto memory = [](const std::string& dropout, int gpus) {
    Case run({"--do_train", "--do_eval"}, machine(gpus));
    run.model.architecture = architectures::Architecture::from_scratch(
        "gpt2", "n_layer=2,n_embd=8,n_head=2,vocab_size=100,n_positions=64,attn_pdrop=" + dropout);
    run.data.validation = SplitFacts{.cache_path = "v", .samples = 8, .tokens = 8 * 64, .exact = true};
    return run.plan().memory_per_rank;
  };
  CHECK(memory("0.1", 0).activations > memory("0.0", 0).activations);
  CHECK(memory("0.1", 0).evaluation == memory("0.0", 0).evaluation);
  CHECK(memory("0.1", 1).activations == memory("0.0", 1).activations);
}

TEST_CASE(
    "a gate's activation is in the plan of a GPU that keeps it, and half types' logits are in float32") {
  const auto activations = [](std::vector<std::string> flags, int gpus, const std::string& inner = "16") {
    flags.emplace_back("--do_train");
    Case run(std::move(flags), machine(gpus));
    run.model.architecture = architectures::Architecture::from_scratch(
        "llama",
        "num_hidden_layers=1,hidden_size=8,num_attention_heads=2,num_key_value_heads=2,vocab_size=128,"
        "max_position_embeddings=64,intermediate_size=" +
            inner);
    return run.plan().memory_per_rank.activations;
  };
  constexpr int64_t kTokens = 8 * 64, kItem = 4;
  CHECK(activations({}, 1) - activations({"--use_liger_kernel"}, 1) == kTokens * 16 * kItem);
  CHECK(activations({}, 0) == activations({"--use_liger_kernel"}, 0));
  CHECK(activations({"--bf16"}, 1) == activations({"--fp16"}, 1));
}

TEST_CASE("the memory of training has room for the gradients of the largest block, while backward is in it") {
  const auto activations = [](const std::string& encoder, const std::string& decoder) {
    Case run;
    run.model.architecture = two_stacks(
        "bart",
        "max_position_embeddings=64,encoder_attention_heads=2,decoder_attention_heads=2,encoder_layers=1,"
        "decoder_layers=1,encoder_ffn_dim=" +
            encoder + ",decoder_ffn_dim=" + decoder);
    return run.plan().memory_per_rank.activations;
  };
  const int64_t more = int64_t{8} * 64 * (2 * 16) * 4;  // of a block whose inner layer is wider by 16
  CHECK(activations("16", "32") - activations("16", "16") == 2 * more);
  CHECK(activations("32", "64") - activations("16", "64") == more);  // the decoder's block is the larger one
}

}  // namespace hftrain::plan
