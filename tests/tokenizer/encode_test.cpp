#include <random>
#include <thread>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/bpe_model.h"
#include "hftrain/tokenizer/encoding_stop.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "hftrain/tokenizer/unicode/utf8.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/refusal.h"

namespace hftrain::tokenizer {
namespace {

std::shared_ptr<const Tokenizer> golden(const std::string& name) {
  return Tokenizer::load(testing::source_dir() + "/tests/golden/tokenizer/" + name);
}

std::vector<TokenId> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> ids;
  tokenizer.encode_into(text, false, ids);
  return ids;
}

std::string random_text(std::mt19937& random, size_t characters) {
  std::string text;
  for (size_t i = 0; i < characters; ++i) {
    const uint32_t draw = random();
    char32_t c = draw % 3 != 0 ? 32 + draw / 3 % 95 : draw / 3 % 0x110000;
    if (c >= 0xD800 && c < 0xE000) c = '\n';
    unicode::append(c, text);
  }
  return text;
}

}  // namespace

TEST_CASE("byte-level pipelines give every text back") {
  std::mt19937 random(5);
  for (const char* name : {"gpt2", "llama3", "mistral"}) {
    const auto tokenizer = golden(name);
    for (int i = 0; i < 200; ++i) {
      const std::string text = random_text(random, 1 + random() % 80);
      REQUIRE(tokenizer->decode(ids_of(*tokenizer, text), false) == text);
    }
  }
}

TEST_CASE("a long text is given up when its thread is to stop, and is encoded otherwise") {
  std::string text;
  while (text.size() < 200'000) text += "the old river bends slowly, ";
  std::atomic<bool> stop = false;
  for (const char* name : {"gpt2", "llama2", "bert_uncased"}) {
    const auto tokenizer = golden(name);
    const std::vector<TokenId> all = ids_of(*tokenizer, text);
    const EncodingStop stops(stop);
    CHECK(ids_of(*tokenizer, text) == all);
    stop = true;
    CHECK_REFUSED(ids_of(*tokenizer, text), "a text was given up while it was encoded");
    stop = false;
  }
}

TEST_CASE("the fast path agrees with the whole pipeline on random text") {
  std::mt19937 random(6);
  for (const char* name :
       {"gpt2", "gpt2_prefix", "llama3", "qwen2", "mistral", "llama2", "llama2_old", "gemma"}) {
    const auto tokenizer = golden(name);
    for (int i = 0; i < 300; ++i) {
      const std::string text = random_text(random, 1 + random() % 60);
      REQUIRE(ids_of(*tokenizer, text) == tokenizer->encode(text, false).ids);
    }
  }
}

TEST_CASE("invalid bytes are read as U+FFFD, one for each broken sequence") {
  const auto tokenizer = golden("gpt2");
  const std::string broken =
      "a\xFF"
      "b\xE6\x9D"
      "c\xF0\x9F\x91"
      "\xC0\x80\xED\xA0\x80";
  const std::string repaired = unicode::replace_invalid(broken);
  CHECK(unicode::count(repaired) == 3 + 1 + 1 + 1 + 2 + 3);
  CHECK(ids_of(*tokenizer, broken) == ids_of(*tokenizer, repaired));
  CHECK(tokenizer->encode(broken, true).ids == tokenizer->encode(repaired, true).ids);
}

TEST_CASE("a megabyte without a space takes no quadratic time and still merges from the lowest rank") {
  std::mt19937 random(9);
  for (const char* name : {"gpt2", "llama2"}) {
    const auto tokenizer = golden(name);
    std::string text;
    while (text.size() < 1'000'000) text += static_cast<char>('a' + random() % 26);
    const std::vector<TokenId> ids = ids_of(*tokenizer, text);
    CHECK(ids.size() < text.size());
    const std::string expected = name == std::string("gpt2") ? text : ' ' + text;
    CHECK(tokenizer->decode(ids, false).size() + 1 >= expected.size());
  }
}

TEST_CASE("ids are appended and special tokens go around them") {
  const auto tokenizer = golden("roberta");
  std::vector<TokenId> ids = {42};
  tokenizer->encode_into("x", true, ids);
  REQUIRE(ids.size() == 4);
  CHECK(ids[0] == 42);
  CHECK(ids[1] == 0);
  CHECK(ids[3] == 2);
  tokenizer->encode_into("", true, ids);
  CHECK(ids.size() == 6);
}

TEST_CASE("many threads may encode with one tokenizer") {
  const auto tokenizer = golden("llama3");
  std::mt19937 random(11);
  std::vector<std::string> texts;
  std::vector<std::vector<TokenId>> expected;
  for (int i = 0; i < 100; ++i) {
    texts.push_back(random_text(random, 50));
    expected.push_back(tokenizer->encode(texts.back(), false).ids);
  }
  std::vector<int> wrong(8);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 4 * texts.size(); ++i) {
        const size_t at = (i * 7 + t) % texts.size();
        if (ids_of(*tokenizer, texts[at]) != expected[at]) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(8));
}

TEST_CASE("short and long pieces merge alike") {
  Vocabulary vocabulary;
  for (const char* token : {"a", "b", "ab", "aba", "abab", "bb"})
    vocabulary.add(token, static_cast<TokenId>(vocabulary.size()));
  MergeTable merges;
  merges.reserve(4);
  merges.add(0, 1, {0, 2});
  merges.add(2, 2, {1, 4});
  merges.add(2, 0, {2, 3});
  merges.add(1, 1, {3, 5});
  const BpeModel model(std::move(vocabulary), std::move(merges), {});
  std::mt19937 random(13);
  for (int i = 0; i < 200; ++i) {
    // Cut a long word into two at a place that no merge crosses, and compare with the parts.
    std::string left = "b", right = "c";
    for (size_t n = random() % 60; n > 0; --n) left += "ab"[random() % 2];
    for (size_t n = random() % 60; n > 0; --n) right += "ab"[random() % 2];
    std::vector<Symbol> whole, first, second;
    model.start(left, first);
    model.start(right, second);
    whole = first;
    whole.push_back({99, 1});
    whole.insert(whole.end(), second.begin(), second.end());
    while (whole.size() <= 64) whole.push_back({99, 1});
    model.merge(whole);
    model.merge(first);
    model.merge(second);
    first.push_back({99, 1});
    first.insert(first.end(), second.begin(), second.end());
    for (size_t at = 0; at < first.size(); ++at) REQUIRE(whole[at].id == first[at].id);
  }
}

TEST_CASE("lookups of tokens and ids") {
  const auto tokenizer = golden("gpt2_prefix");
  const auto mask = tokenizer->token_to_id("<mask>");
  REQUIRE(mask);
  CHECK(tokenizer->vocab_size() == *mask + 1);
  CHECK_FALSE(tokenizer->token_to_id("no such token"));
  CHECK(tokenizer->decode(std::vector<TokenId>{*mask}, true).empty());
  CHECK(tokenizer->decode(std::vector<TokenId>{*mask, 1'000'000, -1}, false) == "<mask>");
}

}  // namespace hftrain::tokenizer
