#include "hftrain/generation/settings.h"

#include <set>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/generation/generation_config.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::generation {
namespace {

const Setting& named(const std::string& name) {
  for (const Setting& setting : settings()) {
    if (setting.name == name) return setting;
  }
  throw std::runtime_error("no setting " + name);
}

Json value(const std::string& name, const std::vector<std::string>& words) {
  return value_from_words(named(name), words);
}

int refused(const std::string& name, const std::vector<std::string>& words) {
  try {
    value(name, words);
  } catch (const Error& error) {
    CHECK(error.render().find("--" + name) != std::string::npos);
    return static_cast<int>(error.code());
  }
  return 0;
}

}  // namespace

TEST_CASE("words become values as a generation config holds them") {
  CHECK(value("max_new_tokens", {"7"}) == 7);
  CHECK(value("temperature", {"0.5"}) == 0.5);
  CHECK(value("do_sample", {"yes"}) == true);
  CHECK(value("early_stopping", {"never"}) == "never");
  CHECK(value("early_stopping", {"false"}) == false);
  CHECK(value("eos_token_id", {"5"}) == 5);
  CHECK(value("eos_token_id", {"5", "6"}) == Json({5, 6}));
  CHECK(value("eos_token_id", {"[5, 6]"}) == Json({5, 6}));
  CHECK(value("stop_strings", {"null"}) == Json({"null"}));
  CHECK(value("bad_words_ids", {"[[1, 2]]"}) == Json::parse("[[1, 2]]"));
  CHECK(value("top_k", {"null"}).is_null());
}

TEST_CASE("words of another kind are refused by the flag's name") {
  CHECK(refused("max_new_tokens", {"seven"}) == 2);
  CHECK(refused("max_new_tokens", {"7.5"}) == 2);
  CHECK(refused("temperature", {"1,5"}) == 2);
  CHECK(refused("do_sample", {"perhaps"}) == 2);
  CHECK(refused("early_stopping", {"sometimes"}) == 2);
  CHECK(refused("bad_words_ids", {"[[1"}) == 2);
  CHECK(refused("eos_token_id", {"5", "x"}) == 2);
}

TEST_CASE("what is no JSON on the command line is not said to be a damaged file") {
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"eos_token_id", "[1"}, {"sequence_bias", "[[[5], 1e999]]"}, {"bad_words_ids", "[[1"}};
  for (const auto& [name, word] : broken) {
    INFO(name);
    CHECK_REFUSED(value(name, {word}), "where: --" + name);
    CHECK_REFUSED(value(name, {word}), "quotes of the shell: --" + name + " '[…]'");
  }
}

TEST_CASE("every setting has one name and a help text") {
  std::set<std::string_view> names;
  for (const Setting& setting : settings()) {
    INFO(setting.name);
    CHECK(names.insert(setting.name).second);
    CHECK(setting.help.size() > 10);
  }
  CHECK(names.size() == 36);
}

TEST_CASE("without a length twenty tokens are generated, as far as positions reach") {
  GenerationConfig config;
  CHECK(config.most_new_tokens(100) == 20);
  config.positions = 64;
  CHECK(config.most_new_tokens(10) == 20);
  CHECK(config.most_new_tokens(60) == 4);
  CHECK(config.most_new_tokens(70) < 1);
  config.max_length = 30;
  CHECK(config.most_new_tokens(10) == 20);
  config.max_new_tokens = 100;
  CHECK(config.most_new_tokens(60) == 100);
}

}  // namespace hftrain::generation
