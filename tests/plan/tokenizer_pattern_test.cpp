#include "hftrain/plan/tokenizer_pattern.h"

#include "hftrain/base/file.h"
#include "hftrain/plan/model_facts.h"
#include "resolve_case.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::plan {
namespace {

Json tokenizer_of(const std::string& pattern) {
  Json tokenizer = Json::parse(R"({"model": {"type": "BPE"}, "normalizer": {"type": "NFC"}, "pre_tokenizer": {
      "type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated", "invert": false},
      {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}]}})");
  tokenizer["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {{"Regex", pattern}};
  return tokenizer;
}

Json changed_at(Json tokenizer, const char* place, const Json& value) {
  tokenizer[Json::json_pointer(place)] = value;
  return tokenizer;
}

TEST_CASE("a tokenizer that transformers makes anew is told from one that it makes otherwise") {
  const Json same = tokenizer_of("a+");
  CHECK(unlike_pattern(same, "a+").empty());
  CHECK(
      contains(unlike_pattern(changed_at(same, "/model/type", "WordPiece"), "a+"), "WordPiece, and not BPE"));
  CHECK(contains(unlike_pattern(changed_at(same, "/normalizer", nullptr), "a+"), "NFC"));
  CHECK(contains(unlike_pattern(same, "b+"), "splits texts"));
  CHECK(contains(unlike_pattern(changed_at(same, "/pre_tokenizer/pretokenizers/1/use_regex", true), "a+"),
                 "splits"));
  CHECK(
      contains(unlike_pattern(changed_at(same, "/pre_tokenizer", {{"type", "ByteLevel"}}), "a+"), "splits"));
  CHECK_FALSE(unlike_pattern(Json::object(), "a+").empty());
}

TEST_CASE("families with a tokenizer of transformers' own tell of another one where they are trained") {
  hftrain::testing::TemporaryDirectory folder;
  const auto told = [&](const std::string& family, const Json& tokenizer) {
    write_file_atomically(folder / "tokenizer.json", tokenizer.dump());
    Case run({"--tokenizer_name", folder.path()});
    run.parsed.arguments.model.model_type = family;
    run.parsed.arguments.model.config_overrides =
        "hidden_size=8,num_attention_heads=2,num_key_value_heads=2,num_hidden_layers=1,vocab_size=100";
    run.model = load_model_facts(run.parsed.arguments, run.environment);
    return contains(run.notes(), "transformers makes other tokens with the saved folder");
  };
  const std::string pattern = architectures::Architecture::from_scratch("qwen2", "")->tokenizer_pattern();
  REQUIRE(pattern.size() > 80);
  CHECK(told("qwen2", {{"model", {{"type", "WordPiece"}}}}));
  CHECK_FALSE(told("qwen2", tokenizer_of(pattern)));
  CHECK_FALSE(told("llama", {{"model", {{"type", "WordPiece"}}}}));
}

TEST_CASE("a class is advised for a tokenizer's folder where transformers reads one") {
  const auto advised = [](const std::string& family) {
    Case run;
    run.model.architecture = architectures::Architecture::from_scratch(
        family,
        "hidden_size=8,num_attention_heads=2,num_key_value_heads=2,num_hidden_layers=1,vocab_size=100");
    run.model.tokenizer_unheeded = {"its class builds another normalizer"};
    const std::string notes = run.notes();
    REQUIRE(contains(notes, "its class builds another normalizer"));
    return contains(notes, "PreTrainedTokenizerFast");
  };
  CHECK(advised("llama"));
  CHECK_FALSE(advised("qwen2"));
}

}  // namespace
}  // namespace hftrain::plan
