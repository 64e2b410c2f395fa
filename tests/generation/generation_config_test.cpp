#include "hftrain/generation/generation_config.h"

#include <cmath>

#include "hftrain/base/error.h"
#include "support/catch.h"

namespace hftrain::generation {
namespace {

GenerationConfig read(const std::string& text) {
  GenerationConfig config;
  take_json(config, parse_json(text, "text"), 100, "generation_config.json");
  return config;
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
  return "";
}

}  // namespace

TEST_CASE("a generation config is read under transformers' names") {
  const GenerationConfig config =
      read(R"({"_from_model_config": true, "eos_token_id": [2, 5], "pad_token_id": 0,
      "max_new_tokens": 7, "do_sample": true, "top_p": 0.9, "early_stopping": "never", "use_cache": true,
      "stop_strings": "\n", "guidance_scale": null, "num_beam_groups": 1, "chat_format": "own", "temperature": null})");
  CHECK(config.eos_token_id == Ids{2, 5});
  CHECK(config.most_new_tokens(50) == 7);
  CHECK(config.do_sample);
  CHECK(config.top_p == 0.9);
  CHECK(config.temperature == 1);
  CHECK(config.early_stopping == EarlyStopping::kNever);
  CHECK(config.stop_strings == std::vector<std::string>{"\n"});
  CHECK(config.filler() == 0);
  CHECK(read(R"({"eos_token_id": 4})").filler() == 4);
}

TEST_CASE("of two biases of a sequence the last one counts") {
  const GenerationConfig config = read(R"({"sequence_bias": [[[5, 7], 1.0], [[2], 3.0], [[5, 7], -2.5]]})");
  CHECK(config.sequence_bias == std::vector<std::pair<Ids, double>>{{{2}, 3.0}, {{5, 7}, -2.5}});
}

TEST_CASE("lengths count the prompt unless they say new") {
  const GenerationConfig config = read(R"({"max_length": 10, "min_length": 6})");
  CHECK(config.most_new_tokens(4) == 6);
  CHECK(config.least_new_tokens(4) == 2);
  CHECK(read(R"({"min_length": 6, "min_new_tokens": 1})").least_new_tokens(0) == 1);
}

TEST_CASE("mistakes in a generation config are told together") {
  const std::string all =
      refusal(R"({"do_sample": true, "temperature": 0, "top_p": 1.5, "eos_token_id": 100, "num_beams": "four",
      "early_stopping": 3, "bad_words_ids": [[]], "penalty_alpha": 0.6})");
  for (const char* part : {"temperature is 0", "above 0", "top_p is 1.5", "at most 1", "eos_token_id is 100",
                           "num_beams is \"four\"", "early_stopping is 3", "bad_words_ids", "penalty_alpha",
                           "generation_config.json"}) {
    INFO(part);
    CHECK(all.find(part) != std::string::npos);
  }
  for (const char* vanishing : {"temperature", "repetition_penalty"})  // 0 in float32
    CHECK(refusal("{\"do_sample\": true, \"" + std::string(vanishing) + "\": 1e-50}").find("above 0") !=
          std::string::npos);
  for (const auto& [given, said] : {std::pair(NAN, "is nan"), {INFINITY, "is inf"}, {-INFINITY, "is -inf"}}) {
    GenerationConfig config;
    CHECK_THROWS_WITH(take_json(config, {{"do_sample", true}, {"temperature", given}}, 100, "command line"),
                      Catch::Contains("temperature " + std::string(said)));
  }
  CHECK(refusal(R"({"num_return_sequences": 3, "num_beams": 2})").find("num_beams texts: 2") !=
        std::string::npos);
  CHECK(refusal(R"({"num_return_sequences": 3, "do_sample": true})").empty());
  // Where nothing is drawn they do nothing, as in transformers.
  CHECK(refusal(R"({"temperature": 0.0, "top_k": -1, "top_p": 1.5, "do_sample": false})").empty());
  CHECK_FALSE(refusal(R"({"temperature": "cold"})").empty());
  CHECK_FALSE(refusal(R"({"num_return_sequences": 3, "num_beams": 2, "do_sample": true})").empty());
}

TEST_CASE("a forced token that is suppressed is refused, as long as no other may come in its place") {
  CHECK_THAT(
      refusal(R"({"forced_bos_token_id": 3, "suppress_tokens": [2, 3]})"),
      Catch::Contains("forced_bos_token_id is [3]") && Catch::Contains("suppress_tokens has them all"));
  CHECK_THAT(refusal(R"({"forced_eos_token_id": [2, 3], "suppress_tokens": [2, 3]})"),
             Catch::Contains("forced_eos_token_id is [2,3]"));
  CHECK(refusal(R"({"forced_eos_token_id": [2, 4], "suppress_tokens": [2, 3]})").empty());
  CHECK(refusal(R"({"forced_bos_token_id": 3, "begin_suppress_tokens": [3]})").empty());
}

}  // namespace hftrain::generation
