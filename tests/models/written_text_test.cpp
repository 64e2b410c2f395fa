// Texts that transformers' generate writes with the same weights (scripts/golden/written_texts.py).
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>

#include <set>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/models/text_model.h"
#include "hftrain/nn/cpu/narrow_product.h"
#include "models/golden_file.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/skip.h"

namespace hftrain::models {
namespace {

using generation::GeneratedText;
using generation::GenerationConfig;
using generation::Ids;
using generation::Prompt;

// In evaluation mode, its matrices times 8.
std::unique_ptr<Model> strong_model(const std::string& name) {
  const testing::GoldenFile golden(name);
  const std::string head = golden.metadata_if_any("head");
  const auto architecture = architectures::Architecture::from_config(
      parse_json(golden.metadata("config"), "golden config"), "golden",
      head.empty() ? architectures::Head::kCausalLm : architectures::head_named(head).value());
  auto model = build_model(architecture, {});
  model->train(false);
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < model->parameters().size(); ++i) {
    const at::Tensor stored = golden.tensor(model->parameter_names()[i]);
    at::Tensor parameter = model->parameters()[i];
    const bool buffer = model->architecture().parameters().parameters[i].buffer;
    parameter.copy_(stored.dim() == 2 && !buffer ? stored * 8 : stored);
  }
  return model;
}

// Of an encoder-decoder `texts` are what its encoder reads.
std::vector<Prompt> prompts_for(const Model& model, const std::vector<Ids>& texts,
                                const GenerationConfig& config) {
  std::vector<Prompt> prompts;
  for (const Ids& text : texts) {
    const uint64_t number = prompts.size();
    if (model.architecture().has_encoder_and_decoder()) {
      prompts.push_back({{config.decoder_start_token_id.value()}, text, number});
    } else {
      prompts.push_back({text, {}, number});
    }
  }
  return prompts;
}

std::vector<std::vector<GeneratedText>> texts_of(Model& model, const std::vector<Ids>& texts,
                                                 const GenerationConfig& config, int64_t places) {
  const std::vector<Prompt> prompts = prompts_for(model, texts, config);
  nn::UnitRunner runner;
  TextModel reader(model, runner, prompts, places, config.filler());
  return generate(reader, prompts, config, /*seed=*/3);
}

}  // namespace

TEST_CASE("models write what transformers writes with them") {
  const Json cases = read_json_file(testing::source_dir() + "/tests/golden/generation/models.json");
  std::set<std::string> seen;
  for (const Json& item : cases) {
    INFO(item.dump());
    const auto model = strong_model(item.at("model"));
    GenerationConfig config;
    take_json(config, item.at("settings"), 64, "settings");
    const auto prompts = item.at("prompts").get<std::vector<Ids>>();
    // Room for less than what comes, too: the cache grows.
    const int64_t places = seen.insert(item.at("model")).second ? 64 : 3;
    const auto written = texts_of(*model, prompts, config, places);
    for (size_t i = 0; i < prompts.size(); ++i) {
      for (size_t k = 0; k < written[i].size(); ++k)
        CHECK(written[i][k].ids == item.at("texts")[i][k].get<Ids>());
    }
  }
  CHECK(seen.size() == 18);
}

TEST_CASE("a text that is written step by step has the logits of one that is read whole") {
  for (const char* name :
       {"models/gpt2", "models/mistral_window", "models/qwen3", "models/llama_llama3_rope"}) {
    INFO(name);
    const auto model = strong_model(name);
    nn::UnitRunner runner;
    const at::Tensor ids = testing::GoldenFile(name).tensor("input_ids");
    Batch whole;
    whole.input_ids = ids;
    const at::Tensor expected = model->forward(whole, runner, logits_only()).logits;
    KeyValueCache cache(4);
    for (const auto& [first, count] : {std::pair{0, 5}, {5, 1}, {6, 3}, {9, 1}, {10, 2}}) {
      Batch part;
      part.input_ids = ids.narrow(1, first, count);
      const at::Tensor logits = model->next_logits(part, cache, runner);
      CHECK((logits - expected.select(1, first + count - 1)).abs().max().item<double>() < 1e-4);
    }
    CHECK(cache.length() == 12);
  }
}

TEST_CASE("the scores of a next token are the same to the bit whichever texts stand beside it") {
  if (!nn::cpu::has_narrow_product()) HFTRAIN_SKIP("this processor has no AVX-512");
  for (const char* name : {"models/gpt2", "models/qwen3"}) {
    INFO(name);
    const auto model = strong_model(name);
    nn::UnitRunner runner;
    const at::Tensor ids = testing::GoldenFile(name).tensor("input_ids").narrow(1, 0, 4);
    KeyValueCache alone_cache(8), cache(8);
    for (const auto& [first, count] : {std::pair{0, 3}, {3, 1}}) {
      Batch alone, beside;
      alone.input_ids = ids.narrow(0, 0, 1).narrow(1, first, count);
      beside.input_ids = at::cat({ids, ids, ids}).narrow(1, first, count);
      const at::Tensor expected = model->next_logits(alone, alone_cache, runner);
      CHECK(model->next_logits(beside, cache, runner).narrow(0, 0, 1).equal(expected));
    }
  }
}

TEST_CASE("padding may stand before a prompt only") {
  const auto model = strong_model("models/gpt2");
  nn::UnitRunner runner;
  KeyValueCache cache(8);
  Batch batch;
  batch.input_ids = testing::GoldenFile("models/gpt2").tensor("input_ids").narrow(1, 0, 2);
  batch.attention_mask = at::ones_like(batch.input_ids);
  model->next_logits(batch, cache, runner);
  CHECK_THROWS_AS(model->next_logits(batch, cache, runner), Error);
}

TEST_CASE("a text that is too long for learned positions is refused before any is read") {
  const auto gpt2 = strong_model("models/gpt2"), llama = strong_model("models/llama_untied");
  GenerationConfig config;
  config.max_new_tokens = 23;
  const std::vector<Prompt> prompts = {{{5, 6}, {}, 0}};
  require_room(gpt2->architecture(), prompts, config);
  config.max_new_tokens = 24;
  CHECK_THROWS_AS(require_room(gpt2->architecture(), prompts, config), Error);
  require_room(llama->architecture(), prompts, config);
}

}  // namespace hftrain::models
