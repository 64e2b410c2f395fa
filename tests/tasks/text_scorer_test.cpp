// Texts that evaluation writes: what is made of ids, and that ranks and batches make no difference.
#include "hftrain/tasks/text_scorer.h"

#include <map>

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::tasks {
namespace {

using TextRows = std::vector<std::vector<int64_t>>;

// Words with a space between, as a pipeline without a decoder has them: 0 and 1 are special.
struct WordFixture {
  testing::TemporaryDirectory folder;
  Json options;
  Json config = Json::object();

  explicit WordFixture(bool translates = false, const std::string& kind = "WordLevel") {
    Json vocabulary = Json::object();
    int64_t id = 0;
    for (const char* word : {"<pad>", "</s>", "the", "fox", "sings", "owl", ".", "waits"})
      vocabulary[word] = id++;
    Json model = {{"type", kind}, {"vocab", vocabulary}, {"unk_token", "the"}};
    if (kind == "BPE") model["merges"] = Json::array();
    Json added = Json::array();
    for (int64_t special : {0, 1})
      added.push_back({{"id", special},
                       {"content", special == 0 ? "<pad>" : "</s>"},
                       {"special", true},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false}});
    write_file_atomically(folder / "tokenizer.json", dump_json({{"version", "1.0"},
                                                                {"added_tokens", added},
                                                                {"pre_tokenizer", {{"type", "Whitespace"}}},
                                                                {"model", model}}));
    options = text_scoring({.translates = translates, .pad_id = 0, .seed = 42, .longest = 5}).options;
  }
  std::unique_ptr<Scorer> scorer(bool writes = true, data::Split split = data::Split::kTest) const {
    return text_scorer({.options = options,
                        .model_config = config,
                        .tokenizer_folder = folder.path(),
                        .split = split,
                        .writes = writes});
  }
};

void add_texts(Scorer& scorer, const std::vector<int64_t>& samples, const TextRows& written,
               const TextRows& right) {
  std::vector<int64_t> outputs, labels;
  for (const auto& row : written) outputs.insert(outputs.end(), row.begin(), row.end());
  for (const auto& row : right) labels.insert(labels.end(), row.begin(), row.end());
  OutputBatch batch{
      .samples = samples,
      .output = {.name = "output", .sizes = {static_cast<int64_t>(written.front().size())}, .ids = outputs}};
  if (!right.empty())
    batch.labels.push_back(
        {.name = "labels", .sizes = {static_cast<int64_t>(right.front().size())}, .ids = labels});
  scorer.add(batch);
}

std::map<std::string, double> text_results(const Scorer& scorer) {
  const metrics::MetricResults results = scorer.results();
  return {results.begin(), results.end()};
}

const TextRows kWritten = {{0, 2, 3, 4, 1, -100}, {0, 2, 5, 0, 7, 6}, {0, 3, 1, -100, -100, -100}};
const TextRows kRight = {{2, 3, 4, 1}, {2, 5, 4, 1}, {5, 1, -100, -100}};

}  // namespace

TEST_CASE("texts are judged without padding and special tokens, which count as length") {
  const WordFixture fixture;
  const auto scorer = fixture.scorer();
  add_texts(*scorer, {0}, {kWritten[0]}, {kRight[0]});
  auto found = text_results(*scorer);
  CHECK(found.at("rouge1") == 100);
  CHECK(found.at("rougeLsum") == 100);
  CHECK(found.at("gen_len") == 4);  // the fox sings </s>
  add_texts(*scorer, {2}, {kWritten[2]}, {kRight[2]});
  found = text_results(*scorer);
  CHECK(found.at("gen_len") == 3);
  CHECK(found.at("rouge1") < 100);
}

TEST_CASE("translations have BLEU, summaries ROUGE") {
  const WordFixture translations(true);
  const auto scorer = translations.scorer();
  add_texts(*scorer, {0, 1, 2}, kWritten, kRight);
  const auto found = text_results(*scorer);
  CHECK(found.size() == 2);
  CHECK(found.at("bleu") > 0);
  CHECK(found.at("gen_len") == Approx(3.3333));  // rounded as all of them
  CHECK_FALSE(text_results(*WordFixture().scorer()).contains("bleu"));
}

TEST_CASE("ranks and batches make no difference to metrics of texts and to what is written") {
  for (const bool translates : {false, true}) {
    const WordFixture fixture(translates);
    const auto whole = fixture.scorer(), first = fixture.scorer(), second = fixture.scorer(),
               merged = fixture.scorer();
    add_texts(*whole, {0, 1, 2}, kWritten, kRight);
    add_texts(*second, {1}, {kWritten[1]}, {kRight[1]});
    add_texts(*first, {0}, {kWritten[0]}, {kRight[0]});
    add_texts(*first, {2}, {kWritten[2]}, {kRight[2]});
    merged->merge(first->state());
    merged->merge(second->state());
    CHECK(merged->results() == whole->results());
    REQUIRE(merged->files("predict").size() == 1);
    CHECK(merged->files("predict")[0].text == whole->files("predict")[0].text);
    CHECK_THROWS_AS(merged->merge(std::vector<double>{1}), std::invalid_argument);
  }
}

TEST_CASE("predictions are lines without an end, and spaces of words are taken out") {
  const WordFixture fixture;
  const auto scorer = fixture.scorer();
  add_texts(*scorer, {0, 1, 2}, kWritten, {});
  const auto files = scorer->files("predict");
  REQUIRE(files.size() == 1);
  CHECK(files[0].name == "generated_predictions.txt");
  CHECK(files[0].text == "the fox sings\nthe owl waits.\nfox");
  CHECK(scorer->results().empty());  // there were no labels
  for (const auto& [writes, split] : {std::pair{false, data::Split::kTest}, {true, data::Split::kValidation}})
    CHECK(fixture.scorer(writes, split)->files("eval").empty());

  const WordFixture pieces(false, "BPE");
  const auto other = pieces.scorer();
  add_texts(*other, {1}, {kWritten[1]}, {});
  CHECK(other->files("predict")[0].text == "the owl waits .");
}

}  // namespace hftrain::tasks
