#include "hftrain/plan/special_tokens.h"
#include "hftrain/plan/resolve_parts.h"

#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

TEST_CASE("special tokens that the tokenizer changes are listed in a warning") {
  Case tokens;
  tokens.model.special_tokens = SpecialTokens{50256, 6, 3};
  const std::string notes = tokens.notes();
  CHECK(contains(notes, "eos_token_id 50256 -> 6, pad_token_id none -> 3"));
  CHECK_FALSE(contains(notes, "bos_token_id"));
  tokens.model.special_tokens = SpecialTokens{50256, 50256, std::nullopt};
  CHECK_FALSE(contains(tokens.notes(), "special tokens"));
}

TEST_CASE("an end of text that the folder of a template replaces is told of") {
  Case sft({"--task", "sft", "--eos_token", "<end>", "--chat_template_path", "/other", "--max_length", "32"});
  sft.model.tokenizer_settings = {{"eos_token", "<end>"}};
  CHECK_FALSE(contains(sft.notes(), "has no effect"));
  sft.model.tokenizer_settings = {{"eos_token", "<stop>"}};
  CHECK(contains(sft.notes(), "eos_token '<end>' has no effect"));
  CHECK(contains(sft.notes(), "texts end with \"<stop>\""));
}

TEST_CASE("a generation config stays as the model's folder has it, byte for byte") {
  Case loaded;
  loaded.model.source_folder = "/model";
  loaded.model.generation_config =
      "{\"temperature\":0.6,  \"do_sample\": true, \"own_key\": [1], \"eos_token_id\": [7, 6], "
      "\"bos_token_id\": 5}";
  CHECK(loaded.plan().model.generation_config == loaded.model.generation_config);  // no tokenizer
  loaded.model.special_tokens = SpecialTokens{5, 6, std::nullopt};
  CHECK(loaded.plan().model.generation_config == loaded.model.generation_config);

  // What the tokenizer has otherwise is the tokenizer's; the file's end tokens stop generation too.
  loaded.model.special_tokens = SpecialTokens{std::nullopt, 9, 3};
  const Json changed = parse_json(loaded.plan().model.generation_config, "the plan");
  CHECK(changed == Json({{"temperature", 0.6},
                         {"do_sample", true},
                         {"own_key", {1}},
                         {"eos_token_id", {9, 7, 6}},
                         {"pad_token_id", 3}}));
  CHECK(contains(loaded.notes(),
                 "eos_token_id 50256 -> 9, bos_token_id 50256 -> none, pad_token_id none -> 3"));

  loaded.model.generation_config = "[]";
  CHECK(loaded.error().code() == ExitCode::kData);
}

TEST_CASE("ends of a generation config stand in it once, and alone behind another's template") {
  Case loaded;
  loaded.model.source_folder = "/model";
  loaded.model.special_tokens = SpecialTokens{std::nullopt, 9, 3};
  const auto ends = [&](const std::string& before) {
    loaded.model.generation_config = "{\"eos_token_id\": " + before + "}";
    return parse_json(loaded.plan().model.generation_config, "the plan")["eos_token_id"];
  };
  CHECK(ends("[7, 7, 6]") == Json({9, 7, 6}));
  CHECK(ends("7") == Json({9, 7}));
  CHECK(ends("null") == Json::array({9}));

  loaded.model.generation_config = R"({"eos_token_id": [7, 9], "top_k": 3})";
  replace_end_tokens(9, loaded.model);
  CHECK(parse_json(loaded.model.generation_config, "the facts") == Json({{"eos_token_id", 9}, {"top_k", 3}}));
  loaded.model.generation_config = "{\"eos_token_id\":  9}";
  replace_end_tokens(9, loaded.model);
  CHECK(loaded.model.generation_config == "{\"eos_token_id\":  9}");
  loaded.model.generation_config.clear();
  replace_end_tokens(9, loaded.model);
  CHECK(loaded.model.generation_config.empty());
}

TEST_CASE("keys of a generation config that nobody reads are told where texts are written by it") {
  const Case loaded;
  RunPlan plan = loaded.plan();
  std::vector<Diagnostic> notes;
  note_generation(loaded.input(), plan, notes);
  CHECK(notes.empty());  // no text is written
  plan.evaluation.generation = {{"num_beams", 2}, {"use_cache", true}};
  note_generation(loaded.input(), plan, notes);
  CHECK(notes.empty());
  plan.evaluation.generation["temprature"] = 0.5;
  note_generation(loaded.input(), plan, notes);
  REQUIRE(notes.size() == 1);
  CHECK(contains(notes[0].render(), "of no effect on texts: temprature"));
}

TEST_CASE("guesses ahead that a generation config asks for are told of where evaluation makes none") {
  const Case loaded;
  RunPlan plan = loaded.plan();
  const auto told = [&](const Json& guesses) {
    plan.evaluation.generation = {{"num_beams", 1}, {"prompt_lookup_num_tokens", guesses}};
    std::vector<Diagnostic> notes;
    note_generation(loaded.input(), plan, notes);
    return notes.empty() ? std::string() : notes.front().what;
  };
  CHECK(told(10) == "prompt_lookup_num_tokens has no effect in evaluation");
  CHECK(told(0).empty());
  CHECK(told(nullptr).empty());
}

TEST_CASE("without a generation config one follows from the model's config") {
  Case scratch;
  scratch.model.special_tokens = SpecialTokens{5, 6, std::nullopt};
  const Json made = parse_json(scratch.plan().model.generation_config, "the plan");
  CHECK(made["_from_model_config"] == true);
  CHECK(made["eos_token_id"] == 6);
  CHECK_FALSE(made.contains("pad_token_id"));
}

TEST_CASE(
    "the id of --forced_bos_token stands in the generation config, whether the model brings one or not") {
  Case forced;
  forced.model.forced_bos = 7;
  CHECK(parse_json(forced.plan().model.generation_config, "the plan")["forced_bos_token_id"] == 7);
  forced.model.source_folder = "/model";
  forced.model.generation_config = "{\"forced_bos_token_id\": 3, \"own_key\": 1}";
  CHECK(parse_json(forced.plan().model.generation_config, "the plan") ==
        Json({{"forced_bos_token_id", 7}, {"own_key", 1}}));
  forced.model.generation_config = "{\"forced_bos_token_id\":  7}";
  CHECK(forced.plan().model.generation_config == forced.model.generation_config);
}

}  // namespace
}  // namespace hftrain::plan
