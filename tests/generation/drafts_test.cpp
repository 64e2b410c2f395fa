#include "hftrain/generation/drafts.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "generation/table_model.h"
#include "hftrain/generation/draws.h"
#include "support/catch.h"

namespace hftrain::generation {
namespace {

struct Written {
  Ids ids, told;
  std::vector<size_t> calls;
  size_t longest = 0;
  size_t read() const { return std::accumulate(calls.begin() + 1, calls.end(), size_t{0}); }
};

Written written_by(const Tables& tables, const Ids& prompt, GenerationConfig config, size_t ahead,
                   std::function<bool(std::span<const int64_t>)> complete = {}) {
  TableModel model(tables, {prompt});
  model.read_ahead(ahead);
  if (!config.prompt_lookup_num_tokens) config.prompt_lookup_num_tokens = 15;
  Written written;
  const Watchers watchers{std::move(complete), [&](size_t, int64_t id) { written.told.push_back(id); }};
  written.ids = generate(model, prompts_of({prompt}), config, /*seed=*/11, watchers)[0][0].ids;
  written.calls = model.calls();
  written.longest = model.longest();
  return written;
}

constexpr size_t kOneByOne = 1, kAhead = 32;

// One that draws, with what changes scores, ends texts or does neither, by the number.
GenerationConfig some_config(int64_t number) {
  GenerationConfig config;
  config.max_new_tokens = 20 + number % 40;
  config.do_sample = number % 2 == 1;
  config.temperature = 0.2;
  if (number % 3 == 1) config.repetition_penalty = 1.1;
  if (number % 5 == 1) config.no_repeat_ngram_size = 4;
  if (number % 4 == 2) config.eos_token_id = {3, 7}, config.min_new_tokens = 9;
  if (number % 7 == 3) config.exponential_decay_length_penalty = LengthDecay{5, 1.2};
  if (number % 8 == 5) config.forced_eos_token_id = {2};
  return config;
}

Tables tables_of(uint64_t seed) {
  Tables tables = some_tables();
  DrawKey key{.seed = seed};
  for (auto& row : tables.last) {
    for (float& number : row) number += static_cast<float>(3 * uniform(key)), ++key.number;
  }
  return tables;
}

}  // namespace

TEST_CASE("what followed the last tokens where they stood last is guessed") {
  CHECK(looked_up(Ids{1, 2, 3, 4, 5, 1, 2, 3}, 2) == Ids{4, 5});
  CHECK(looked_up(Ids{1, 2, 3, 4, 1, 2, 3, 5, 9, 1, 2, 3}, 1) == Ids{5});
  CHECK(looked_up(Ids{1, 2, 3, 4, 7, 2, 3, 5, 1, 2, 3}, 1) == Ids{4});  // three go before a nearer two
  CHECK(looked_up(Ids{6, 2, 3, 4, 1, 2, 3}, 1) == Ids{4});
  CHECK(looked_up(Ids{6, 3, 4, 1, 2, 3}, 3).empty());
  CHECK(looked_up(Ids{}, 3).empty());
  CHECK(looked_up(Ids{1, 2}, 3).empty());
}

TEST_CASE("as many of the last tokens are looked for as are asked for, and fewer where these stood nowhere") {
  const Ids text{1, 2, 3, 4, 7, 2, 3, 5, 9, 3, 6, 1, 2, 3};
  CHECK(looked_up(text, 1) == Ids{4});
  CHECK(looked_up(text, 1, 1000) == Ids{4});
  CHECK(looked_up(text, 1, 2) == Ids{5});
  CHECK(looked_up(text, 1, 1) == Ids{6});
  CHECK(looked_up(Ids{6, 3, 4, 1, 2, 3}, 3, 1000)
            .empty());  // a single one is looked for only where one is named
  CHECK(looked_up(Ids{6, 3, 4, 1, 2, 3}, 1, 1) == Ids{4});
  CHECK(looked_up(Ids{}, 1, 1).empty());
  CHECK(Drafts(9, 1).next(text, 1) == Ids{6});
}

TEST_CASE("a guess goes on with itself where the text ends") {
  CHECK(looked_up(Ids{1, 1, 1}, 4) == Ids{1, 1, 1, 1});
  CHECK(looked_up(Ids{8, 1, 2, 3, 1, 2, 3}, 7) == Ids{1, 2, 3, 1, 2, 3, 1});
}

TEST_CASE("guesses grow while they are right, and rest after misses") {
  const Ids text{1, 1, 1, 1};
  Drafts drafts(15);
  CHECK(drafts.next(text, 99).size() == 4);
  drafts.learn(4, 4);
  CHECK(drafts.next(text, 99).size() == 8);
  CHECK(drafts.next(text, 3).size() == 3);
  drafts.learn(8, 8);
  CHECK(drafts.next(text, 99).size() == 15);
  drafts.learn(15, 2);
  CHECK(drafts.next(text, 99).size() == 3);
  size_t rests = 0;
  for (size_t miss = 1; miss <= 7; ++miss) {
    drafts.learn(1, 0);
    for (rests = 0; drafts.next(text, 99).empty(); ++rests) {
    }
  }
  CHECK(rests == 32);
  CHECK(drafts.next(text, 99).size() == 1);
  CHECK(Drafts(0).next(text, 99).empty());
  CHECK(drafts.next(text, 0).empty());
}

TEST_CASE("guesses change no token of any text, nor when it ends") {
  size_t spared = 0;
  for (int64_t number = 0; number < 240; ++number) {
    INFO(number);
    const GenerationConfig config = some_config(number);
    const Tables tables = tables_of(static_cast<uint64_t>(number));
    const Ids prompt{number % 20, 4, number % 6, 4};
    std::function<bool(std::span<const int64_t>)> complete;
    if (number % 6 == 4)
      complete = [](std::span<const int64_t> ids) { return ids.size() > 9 && ids.back() > 15; };
    const Written plain = written_by(tables, prompt, config, kOneByOne, complete);
    const Written ahead = written_by(tables, prompt, config, kAhead, complete);
    CHECK(ahead.ids == plain.ids);
    CHECK(ahead.told == plain.ids);
    CHECK(ahead.calls.size() <= plain.calls.size());
    CHECK(plain.calls.size() == plain.ids.size());
    spared += plain.calls.size() - ahead.calls.size();
  }
  CHECK(spared > 1000);
}

TEST_CASE("a text that goes round needs few steps, and reads no token that it has no room for") {
  GenerationConfig config;
  config.max_new_tokens = 200;
  const Written ahead = written_by(some_tables(), {1, 2}, config, kAhead);
  CHECK(ahead.ids.size() == 200);
  CHECK(ahead.calls.size() < 60);
  CHECK(std::ranges::max(ahead.calls) == 16);
  for (const int64_t most : {1, 2, 3, 40, 41, 42, 43, 44, 45, 46, 47}) {
    config.max_new_tokens = most;
    const Written text = written_by(some_tables(), {1, 1, 1, 1}, config, kAhead);
    CHECK(text.ids.size() == static_cast<size_t>(most));
    CHECK(text.longest == 4 + text.ids.size() - 1);  // its last token is not read
  }
}

TEST_CASE("guesses that are always wrong become rare") {
  GenerationConfig config;
  config.max_new_tokens = 260;
  config.no_repeat_ngram_size = 3;  // what followed two tokens once never does again
  const Written plain = written_by(some_tables(), {1, 2}, config, kOneByOne);
  const Written ahead = written_by(some_tables(), {1, 2}, config, kAhead);
  CHECK(ahead.ids == plain.ids);
  CHECK(ahead.calls.size() == plain.calls.size());
  CHECK(ahead.read() > plain.read());
  CHECK(ahead.read() < plain.read() + plain.read() / 10);
}

TEST_CASE("as much is guessed as is asked for and the model reads, and nothing unasked") {
  GenerationConfig config;
  config.max_new_tokens = 90;
  const Tables tables = some_tables();
  TableModel unasked(tables, {{1, 2}});
  unasked.read_ahead(kAhead);
  generate(unasked, prompts_of({{1, 2}}), config, /*seed=*/11, {});
  CHECK(std::ranges::max(unasked.calls()) == 1);
  const auto most = [&](size_t ahead) {
    return std::ranges::max(written_by(some_tables(), {1, 2}, config, ahead).calls);
  };
  config.prompt_lookup_num_tokens = 3;
  CHECK(most(kAhead) == 4);
  CHECK(most(kOneByOne) == 1);
  config.prompt_lookup_num_tokens = 1000;
  CHECK(most(kAhead) == 32);
  config.prompt_lookup_num_tokens = 0;
  CHECK(most(kAhead) == 1);
}

TEST_CASE("what is looked for is what the config names") {
  GenerationConfig config;
  config.max_new_tokens = 60;
  const auto calls = [&](int64_t longest) {
    config.max_matching_ngram_size = longest;
    return written_by(some_tables(), {1, 2}, config, kAhead).calls;
  };
  CHECK(calls(0) == calls(3));
  CHECK(calls(1) != calls(3));
}

TEST_CASE("as much is foreseen as promises most tokens for the time") {
  Foresight foresight(15);
  const size_t first = foresight.next(99);
  CHECK(first > 1);
  CHECK(foresight.next(2) == 2);
  CHECK(foresight.next(0) == 0);
  for (int i = 0; i < 20; ++i) foresight.learn(first, first);
  CHECK(foresight.next(99) > first);
  CHECK(foresight.next(99) <= 15);
  for (int i = 0; i < 60; ++i) foresight.learn(1, 0);
  CHECK(foresight.next(99) == 1);  // now and then, to see whether that has changed
  for (int i = 0; i < 16; ++i) CHECK(foresight.next(99) == 0);
  CHECK(foresight.next(99) == 1);
  CHECK(Foresight(0).next(99) == 0);
}

TEST_CASE(
    "what takes as long to foresee as to write is not foreseen, and what takes no time as far as it goes") {
  CHECK(Foresight(15).next(99, {.draft = 1.1}) == 1);
  CHECK(Foresight(15).next(99, {.draft = 0.35, .row = 0.7}) == 1);
  CHECK(Foresight(15).next(99, {.draft = 0.3, .row = 0.03, .choice = 0.9}) == 1);
  CHECK(Foresight(15).next(99, {.draft = 0, .row = 0, .choice = 0}) == 15);
}

TEST_CASE("costs of drafts are those that are seen, in the time of a token that is written by itself") {
  SeenCosts seen;
  CHECK_FALSE(seen.knows_steps());
  CHECK(seen.costs().draft == DraftCosts().draft);
  for (int i = 0; i < 3; ++i) seen.step(1, 8);
  CHECK(seen.knows_steps());
  seen.draft(1000, 1000);  // makes the copies
  CHECK(seen.costs().draft == DraftCosts().draft);
  seen.draft(3, 2);
  CHECK(seen.costs().draft == Approx(0.5));
  CHECK(seen.costs().choice == Approx(0.2));
  CHECK(seen.costs().row == DraftCosts().row);
  seen.step(4, 9.5);
  CHECK(seen.costs().row == Approx(0.05));
  for (int i = 0; i < 40; ++i) seen.step(1, 18), seen.draft(8, 2);  // what was is forgotten
  CHECK(seen.costs().draft == Approx(0.5).epsilon(0.01));
  CHECK(seen.costs().choice == Approx(0.1).epsilon(0.01));
}

TEST_CASE("what the model's quicker reading foresees changes no token of any text, nor when it ends") {
  size_t spared = 0;
  for (int64_t number = 0; number < 240; ++number) {
    INFO(number);
    GenerationConfig config = some_config(number);
    config.prompt_lookup_num_tokens = number % 9 == 4 ? 6 : 0;
    const Tables tables = tables_of(static_cast<uint64_t>(number));
    const Ids prompt{number % 20, 4, number % 6, 4};
    TableModel plain(tables, {prompt}), model(tables, {prompt});
    model.read_ahead(kAhead);
    const bool always = number % 8 < 4;
    using Foresees = TokenModel::Foresees;
    // From always right to mostly wrong.
    model.foresee(static_cast<float>(number % 4), always ? Foresees::kAlways : Foresees::kWhereItSavesTime);
    Ids told;
    const Watchers watchers{{}, [&](size_t, int64_t id) { told.push_back(id); }};
    const Ids expected = generate(plain, prompts_of({prompt}), config, /*seed=*/11)[0][0].ids;
    CHECK(generate(model, prompts_of({prompt}), config, /*seed=*/11, watchers)[0][0].ids == expected);
    CHECK(told == expected);
    CHECK(model.longest() <= prompt.size() + static_cast<size_t>(*config.max_new_tokens) - 1);
    if (always) CHECK(model.drafts() > 0);
    spared += plain.calls().size() - model.calls().size();
    if (always && number % 4 == 0) CHECK(model.calls().size() * 2 < plain.calls().size() + 4);
  }
  CHECK(spared > 1000);
}

TEST_CASE("nothing is foreseen behind the end of a text") {
  GenerationConfig config;
  config.max_new_tokens = 60;
  const Tables tables = some_tables();
  TableModel plain(tables, {{1, 2}});
  const Ids whole = generate(plain, prompts_of({{1, 2}}), config, 1)[0][0].ids;
  size_t end = 0;  // of a text that ends at the last token to come for the first time
  for (size_t i = 0; i < whole.size(); ++i) {
    if (std::ranges::find(whole, whole[i]) == whole.begin() + static_cast<std::ptrdiff_t>(i)) end = i + 1;
  }
  REQUIRE(end > 3);
  config.eos_token_id = {whole[end - 1]};
  TableModel model(tables, {{1, 2}});
  model.read_ahead(kAhead);
  model.foresee(0);
  CHECK(generate(model, prompts_of({{1, 2}}), config, 1)[0][0].ids.size() == end);
  CHECK(model.drafts() > 0);
  CHECK(model.longest() <= 2 + end);
}

TEST_CASE("scores of a draft that are no numbers end it, and are no mistake") {
  GenerationConfig config;
  config.max_new_tokens = 30;
  const Tables tables = some_tables();
  TableModel plain(tables, {{1, 2}}), model(tables, {{1, 2}});
  model.read_ahead(kAhead);
  model.foresee(std::numeric_limits<float>::quiet_NaN());
  const auto expected = generate(plain, prompts_of({{1, 2}}), config, 1);
  CHECK(generate(model, prompts_of({{1, 2}}), config, 1)[0][0].ids == expected[0][0].ids);
  CHECK(model.drafts() > 0);
}

TEST_CASE("only the last text that is being written is guessed ahead") {
  GenerationConfig config;
  config.max_new_tokens = 60;
  config.prompt_lookup_num_tokens = 15;
  config.eos_token_id = {10, 18};  // all but one text end early
  const Tables tables = some_tables();
  const std::vector<Ids> texts = {{1}, {2, 4, 5}, {1, 7}, {9, 8}};
  TableModel plain(tables, texts), model(tables, texts);
  model.read_ahead(kAhead);
  const auto expected = generate(plain, prompts_of(texts), config, 1);
  const auto found = generate(model, prompts_of(texts), config, 1);
  for (size_t i = 0; i < texts.size(); ++i) CHECK(found[i][0].ids == expected[i][0].ids);
  const auto alone = std::ranges::find(plain.calls(), 1u);
  const std::span together(plain.calls().begin(), alone);
  REQUIRE(together.size() > 1);
  REQUIRE(model.calls().size() > together.size());
  CHECK(std::ranges::equal(together, std::span(model.calls()).first(together.size())));
  CHECK(model.calls().size() < plain.calls().size());
}

}  // namespace hftrain::generation
