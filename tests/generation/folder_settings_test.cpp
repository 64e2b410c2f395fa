#include "hftrain/generation/folder_settings.h"

#include <fstream>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::generation {

TEST_CASE("a folder's settings are those of its generation config, else of its config") {
  const testing::TemporaryDirectory folder;
  CHECK(read_folder_settings(folder.path()).values.empty());
  std::ofstream(folder / "config.json")
      << R"({"n_layer": 2, "num_beams": 3, "eos_token_id": 4, "max_length": null})";
  const FolderSettings of_config = read_folder_settings(folder.path());
  CHECK(of_config.values == Json({{"_from_model_config", true}, {"num_beams", 3}, {"eos_token_id", 4}}));
  CHECK(of_config.origin == folder / "config.json");
  std::ofstream(folder / "generation_config.json") << R"({"top_p": 0.5})";
  const FolderSettings own = read_folder_settings(folder.path());
  CHECK(own.values == Json({{"top_p", 0.5}}));
  for (const char* text : {"[1]", "", "{"}) {
    try {
      settings_from_text(text, "generation_config.json");
      FAIL("it was taken");
    } catch (const Error& error) {
      const Diagnostic& told = error.diagnostics().front();
      CHECK(told.where.starts_with("generation_config.json"));
      CHECK_FALSE(told.why.empty());
      CHECK_FALSE(told.hint.empty());
    }
  }
}

TEST_CASE("of a model's config the keys of generating are settings, other ways of decoding among them") {
  const Json made = settings_of_model_config({{"hidden_size", 8},
                                              {"penalty_alpha", 0.6},
                                              {"use_cache", true},
                                              {"task_specific_params", {{"a", {{"num_beams", 4}}}}}});
  CHECK(made == Json({{"_from_model_config", true}, {"penalty_alpha", 0.6}, {"use_cache", true}}));
  Json old = {{"bos_token_id", 3}, {"force_bos_token_to_be_generated", true}};
  CHECK(settings_of_model_config(old).at("forced_bos_token_id") == 3);
  old["force_bos_token_to_be_generated"] = false;
  CHECK_FALSE(settings_of_model_config(old).contains("forced_bos_token_id"));
}

TEST_CASE("keys of a generation config that nobody reads are named") {
  const Json config = {{"top_k", 5},           {"_from_model_config", true}, {"use_cache", true},
                       {"penalty_alpha", 0.6}, {"cache_config", {{"a", 1}}}, {"chat_format", "own"},
                       {"temprature", 2},      {"max_window_size", nullptr}};
  CHECK(unknown_settings(config) == std::vector<std::string>{"chat_format", "temprature"});
  CHECK(unknown_settings(Json::object()).empty());
}

TEST_CASE("special tokens that the model does not have are taken out of settings, and told") {
  Json settings = {{"bos_token_id", 5},
                   {"pad_token_id", -1},
                   {"eos_token_id", {9, 10, 11}},
                   {"decoder_start_token_id", 10},
                   {"forced_bos_token_id", 99}};
  const Json taken = take_unknown_tokens(settings, 10);
  CHECK(taken == Json({{"pad_token_id", -1}, {"eos_token_id", {9, 10, 11}}, {"decoder_start_token_id", 10}}));
  CHECK(settings == Json({{"bos_token_id", 5},
                          {"pad_token_id", nullptr},
                          {"eos_token_id", {9}},
                          {"decoder_start_token_id", nullptr},
                          {"forced_bos_token_id", 99}}));
  Json ends = {{"eos_token_id", {50256}}};
  CHECK(take_unknown_tokens(ends, 10).size() == 1);
  CHECK(ends.at("eos_token_id").is_null());
  Json odd = {{"eos_token_id", "end"}};
  CHECK(take_unknown_tokens(odd, 10).empty());  // take_json refuses it
}

}  // namespace hftrain::generation
