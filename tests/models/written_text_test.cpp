// Texts that transformers' generate writes with the same weights (scripts/golden/written_texts.py).
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "hftrain/architectures/described_family.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/models/own_family.h"
#include "hftrain/models/text_model.h"
#include "hftrain/nn/cpu/narrow_product.h"
#include "models/golden_file.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/refusal.h"
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

// A plug-in's kind of family: each token sees the mean of those before it, and nothing is kept of a text.
std::unique_ptr<Model> forgetful_model() {
  architectures::add_described_family(
      R"({"model_type": "mean_of_before", "layer_class": "MeanBlock", "body": "model",
          "config": {"vocab_size": 23, "hidden_size": 6, "num_hidden_layers": 2, "max_position_embeddings": 64,
                     "initializer_range": 0.5},
          "heads": {"causal_lm": {"class": "MeanForCausalLM", "matrix": "lm_head"}},
          "embeddings": [{"kind": "embedding", "name": "embed", "shape": ["vocab_size", "hidden_size"]}],
          "block": [{"kind": "matrix", "name": "layers.{layer}.mix", "shape": ["hidden_size", "hidden_size"]}],
          "last": [{"kind": "norm", "name": "norm", "shape": ["hidden_size"]}],
          "activations": "2*hidden_size"})",
      "the test");
  add_own_family("mean_of_before", [](const Json&) {
    using Tensors = std::vector<at::Tensor>;
    OwnDecoder maths;
    maths.embed = [](const Tensors& parameters, const at::Tensor& ids) {
      return at::embedding(parameters[0], ids);
    };
    maths.block = [](int64_t, const Tensors& parameters, const at::Tensor& x, const at::Tensor&) {
      const at::Tensor places = at::arange(1, x.size(1) + 1, x.options()).view({1, -1, 1});
      return x + at::linear(x.cumsum(1) / places, parameters[0]);
    };
    maths.last = [](const Tensors& parameters, const at::Tensor& x) { return x * parameters[0]; };
    return maths;
  });
  auto model =
      build_model(architectures::Architecture::from_config(Json::object({{"model_type", "mean_of_before"}}),
                                                           "the test", architectures::Head::kCausalLm),
                  {});
  model->initialise(at::detail::createCPUGenerator(7));
  model->train(false);
  return model;
}

constexpr std::array kDrafting = {"models/gpt2", "models/mistral_window", "models/qwen3",
                                  "models/llama_llama3_rope", "models/gemma"};

// Of two prompts the first, which is padded, goes on: by single tokens, and by three, by five of which two are forgotten, and alone
// again. Scores differ by `most` at most.
void check_read_at_once(const char* name, float most) {
  INFO(name);
  const auto model = strong_model(name);
  const std::vector<Prompt> prompts = {{{5, 6, 7}, {}, 0}, {{8, 9, 10, 11, 12}, {}, 1}};
  const Ids text = {13, 14, 15, 16, 17, 18, 19, 20, 21};
  nn::UnitRunner runner;
  TextModel alone(*model, runner, prompts, 6, 0), at_once(*model, runner, prompts, 6, 0);
  alone.start();
  at_once.start();
  std::vector<float> expected;
  for (const int64_t token : text) {
    const auto scores = alone.next(std::vector{token}, std::vector{int64_t{0}});
    expected.insert(expected.end(), scores.begin(), scores.end());
  }
  const auto width = static_cast<size_t>(alone.vocabulary());
  const auto check = [&](std::span<const float> scores, size_t first, size_t count) {
    float worst = 0;
    for (size_t i = 0; i < count * width; ++i)
      worst = std::max(worst, std::abs(scores[i] - expected[first * width + i]));
    CHECK(worst <= most);
  };
  const auto part = [&](size_t first, size_t count) { return std::span(text).subspan(first, count); };
  check(at_once.next_of(part(0, 3), 0), 0, 3);
  check(at_once.next_of(Ids{16, 17, 18, 30, 31}, 2), 3, 3);
  check(at_once.next(Ids{19}, Ids{2}), 6, 1);
  check(at_once.next_of(part(7, 1), 0), 7, 1);
  check(at_once.next_of(part(8, 1), 0), 8, 1);
}

}  // namespace

TEST_CASE("texts of a family that remembers nothing are read whole for each token") {
  const auto model = forgetful_model();
  nn::UnitRunner runner;
  const std::vector<Prompt> prompts = {{{5, 6, 7, 8}, {}, 0}, {{3}, {}, 1}};
  TextModel reader(*model, runner, prompts, 4, /*padding=*/0);
  const auto check = [&](std::span<const float> scores, const std::vector<Ids>& texts) {
    REQUIRE(scores.size() == texts.size() * 23);
    for (size_t row = 0; row < texts.size(); ++row) {
      Batch alone;
      alone.input_ids = at::tensor(texts[row]).unsqueeze(0);
      const at::NoGradGuard no_grad;
      const at::Tensor expected = model->forward(alone, runner, last_logits()).logits[0];
      for (int64_t id = 0; id < 23; ++id)
        CHECK(scores[row * 23 + static_cast<size_t>(id)] == Approx(expected[id].item<float>()).margin(1e-5));
    }
  };
  check(reader.start(), {{5, 6, 7, 8}, {3}});
  CHECK(reader.vocabulary() == 23);
  CHECK(reader.ahead() == 1);
  check(reader.next(std::vector<int64_t>{9, 10, 11}, std::vector<int64_t>{1, 0, 1}),
        {{3, 9}, {5, 6, 7, 8, 10}, {3, 11}});
  check(reader.next(std::vector<int64_t>{12}, std::vector<int64_t>{2}), {{3, 11, 12}});
}

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

TEST_CASE("scores behind tokens that are read at once are those of steps that read one") {
  for (const char* name : kDrafting) check_read_at_once(name, 1e-3F);
}

TEST_CASE("what copies of the weights have drafted leaves no trace in the scores") {
  if (!nn::QuantisedMatrices::available()) HFTRAIN_SKIP("this processor has no AVX-512-VNNI");
  for (const char* name : kDrafting) {
    INFO(name);
    const auto model = strong_model(name);
    const std::vector<Prompt> prompts = {{{5, 6, 7}, {}, 0}, {{8, 9, 10, 11, 12}, {}, 1}};
    nn::UnitRunner runner;
    nn::QuantisedMatrices copies(model->parameters());
    TextModel plain(*model, runner, prompts, 6, 0), drafting(*model, runner, prompts, 6, 0, &copies);
    using Foresees = generation::TokenModel::Foresees;
    CHECK(plain.foresees(99, 99) == Foresees::kNever);
    CHECK(drafting.foresees(99, 3) == Foresees::kNever);
    CHECK(drafting.foresees(3, 99) == Foresees::kNever);
    CHECK(drafting.foresees(9, 99) == Foresees::kWhereItSavesTime);
    CHECK(TextModel(*model, runner, prompts, 6, 0, &copies, /*always=*/true).foresees(0, 1) ==
          Foresees::kAlways);
    plain.start();
    drafting.start();
    const auto floats = [](std::span<const float> scores) {
      return std::vector<float>(scores.begin(), scores.end());
    };
    const auto first = floats(drafting.draft(13, 0)), second = floats(drafting.draft(14, 0));
    CHECK(drafting.draft_steps() == 2);
    CHECK(drafting.steps() == 1);
    CHECK(drafting.foresees(0, 1) == Foresees::kWhereItSavesTime);  // the copies are there
    const auto scores = floats(plain.next_of(Ids{13, 14, 15}, 0));
    CHECK(floats(drafting.next_of(Ids{13, 14, 15}, 0)) == scores);
    const size_t width = first.size();
    for (const auto& [drafted, row] : {std::pair(&first, 0), std::pair(&second, 1)}) {
      float worst = 0, largest = 0;
      for (size_t i = 0; i < width; ++i) {
        const float exact = scores[static_cast<size_t>(row) * width + i];
        worst = std::max(worst, std::abs((*drafted)[i] - exact)),
        largest = std::max(largest, std::abs(exact));
      }
      CHECK(worst > 0);
      CHECK(worst < 0.2F * largest);
    }
    drafting.draft(16, 1);  // behind 14: what was read behind that is forgotten, too
    drafting.draft(17, 0);
    CHECK(floats(drafting.next(Ids{16}, Ids{0})) == floats(plain.next(Ids{16}, Ids{1})));
  }
}

TEST_CASE("texts go on from one place of a draft") {
  const auto model = strong_model("models/gpt2");
  const std::vector<Prompt> prompts = {{{5, 6, 7}, {}, 0}};
  nn::UnitRunner runner;
  TextModel reader(*model, runner, prompts, 6, 0);
  reader.start();
  reader.next_of(Ids{8, 9, 10}, 0);
  CHECK_REFUSED(reader.next(Ids{11, 12}, Ids{1, 2}), "texts go on from several places of one");
}

TEST_CASE("drafts are read by decoders that remember") {
  const std::vector<Prompt> prompts = {{{5, 6, 7}, {}, 0}};
  nn::UnitRunner runner;
  const auto encodes = strong_model("heads/t5_texts"), gpt2 = strong_model("models/gpt2");
  CHECK(TextModel(*encodes, runner, prompts, 6, 0).ahead() == 1);
  CHECK(TextModel(*gpt2, runner, prompts, 6, 0).ahead() == nn::cpu::kNarrowRows);
  // A device launches each by itself.
  ModelOptions there;
  there.device = at::kMeta;
  const auto architecture = architectures::Architecture::from_scratch(
      "gpt2", "n_layer=1,n_embd=8,n_head=2,vocab_size=16", architectures::Head::kCausalLm);
  const auto of_device = build_model(architecture, there);
  CHECK(TextModel(*of_device, runner, prompts, 6, 0).ahead() == 1);
}

TEST_CASE("padding may stand before a prompt only") {
  const auto model = strong_model("models/gpt2");
  nn::UnitRunner runner;
  KeyValueCache cache(8);
  Batch batch;
  batch.input_ids = testing::GoldenFile("models/gpt2").tensor("input_ids").narrow(1, 0, 2);
  batch.attention_mask = at::ones_like(batch.input_ids);
  model->next_logits(batch, cache, runner);
  CHECK_REFUSED(model->next_logits(batch, cache, runner), "only a prompt may have padding");
}

TEST_CASE("a text that is too long for learned positions is refused before any is read") {
  const auto gpt2 = strong_model("models/gpt2"), llama = strong_model("models/llama_untied");
  GenerationConfig config;
  config.max_new_tokens = 23;
  const std::vector<Prompt> prompts = {{{5, 6}, {}, 0}};
  require_room(gpt2->architecture(), prompts, config);
  config.max_new_tokens = 24;
  CHECK_REFUSED(require_room(gpt2->architecture(), prompts, config), "is too long for the model");
  CHECK_REFUSED(require_room(gpt2->architecture(), prompts, config), "prompt 1");
  require_room(llama->architecture(), prompts, config);
}

}  // namespace hftrain::models
