#include "generation/table_model.h"
#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::generation {
namespace {

std::vector<std::vector<GeneratedText>> written(const std::vector<Ids>& texts, const GenerationConfig& config,
                                                uint64_t first = 0, const Watchers& watchers = {}) {
  const Tables tables = some_tables();
  TableModel model(tables, texts);
  std::vector<Prompt> prompts = prompts_of(texts);
  for (Prompt& prompt : prompts) prompt.number += first;
  return generate(model, prompts, config, /*seed=*/7, watchers);
}

GenerationConfig sampling() {
  GenerationConfig config;
  config.do_sample = true;
  config.max_new_tokens = 12;
  config.eos_token_id = {3};
  return config;
}

}  // namespace

TEST_CASE("a sampled text does not depend on its batch") {
  const std::vector<Ids> texts = {{1}, {2, 4, 5}, {1}, {9, 8}};
  for (const int64_t beams : {1, 3}) {
    GenerationConfig config = sampling();
    config.num_beams = beams;
    config.num_return_sequences = 2;
    const auto all = written(texts, config);
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto alone = written({texts[i]}, config, i);
      CHECK(alone[0][0].ids == all[i][0].ids);
      CHECK(alone[0][1].ids == all[i][1].ids);
    }
    CHECK(all[0][0].ids != all[2][0].ids);  // another place in the data, another text
    CHECK(all[0][0].ids != all[0][1].ids);
  }
}

TEST_CASE("what is complete is read no further") {
  const Tables tables = some_tables();
  GenerationConfig config = sampling();
  config.eos_token_id = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const std::vector<Ids> texts(40, Ids{12});
  TableModel model(tables, texts);
  const auto result = generate(model, prompts_of(texts), config, 1);
  size_t tokens = 0, rows = 0;
  for (const auto& text : result) tokens += text[0].ids.size();
  for (const size_t call : model.calls()) rows += call;
  CHECK(rows == tokens);
  CHECK(model.calls().back() < texts.size());
}

TEST_CASE("tokens are told as they come, and a watcher can end a text") {
  GenerationConfig config = sampling();
  std::vector<Ids> told(2);
  Watchers watchers;
  watchers.token = [&](size_t prompt, int64_t token) { told[prompt].push_back(token); };
  watchers.complete = [](std::span<const int64_t> generated) { return generated.size() == 5; };
  config.eos_token_id = {};
  const auto result = written({{1}, {2}}, config, 0, watchers);
  CHECK(told[0] == result[0][0].ids);
  CHECK(told[1] == result[1][0].ids);
  CHECK(told[0].size() == 5);
}

TEST_CASE("a prompt without room and scores that are no numbers are refused") {
  GenerationConfig config;
  config.max_length = 3;
  CHECK_REFUSED(written({{1, 2, 3}}, config), "a prompt leaves no room for a token");
  CHECK_REFUSED(written({{1, 2}, {1, 2, 3}}, config), "prompt 2 of 3 tokens");
  CHECK(written({{1, 2}}, config)[0][0].ids.size() == 1);
  Tables tables = some_tables();
  tables.last[1][4] = std::numeric_limits<float>::quiet_NaN();
  TableModel model(tables, {{1}});
  CHECK_REFUSED(generate(model, prompts_of({{1}}), config, 0), "the model's scores are not numbers");
  config.remove_invalid_values = true;
  CHECK(generate(model, prompts_of({{1}}), config, 0)[0][0].ids.size() == 2);
}

TEST_CASE("no prompts give no texts") {
  CHECK(written({}, sampling()).empty());
}

}  // namespace hftrain::generation
