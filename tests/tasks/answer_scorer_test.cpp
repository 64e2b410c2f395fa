// Logits to answers and scores, against post-processing by the rules of the example script and SQuAD's metric
// (scripts/golden/question_answering.py).
#include "hftrain/tasks/answer_scorer.h"

#include <filesystem>

#include "hftrain/base/file.h"
#include "question_fixture.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::tasks {
namespace {

using questions::question_golden;
using questions::QuestionFixture;

// The logits of the golden file: [windows, 2, length].
class MadeUpLogits {
 public:
  MadeUpLogits(const Json& entry, size_t number)
      : length_(entry["batch"]["input_ids"][0].size()), values_(entry["windows"].size() * 2 * length_) {
    for (size_t i = 0; i < values_.size(); ++i)
      values_[i] = static_cast<float>(static_cast<double>((i * 7919 + 131 * number) % 100003) / 12500 - 4);
    const Json &starts = entry["batch"]["start_positions"], &ends = entry["batch"]["end_positions"];
    for (size_t w = 0; w < starts.size() && number % 2 == 0; ++w) {
      if (is_nothing(entry, w)) continue;
      values_[2 * w * length_ + starts[w].get<size_t>()] = 9;
      values_[(2 * w + 1) * length_ + ends[w].get<size_t>()] = 9;
    }
  }
  size_t length() const { return length_; }
  // [length, 2] of a window, as models give them.
  std::vector<float> of(int64_t window) const {
    std::vector<float> scores;
    const size_t begin = 2 * static_cast<size_t>(window) * length_;
    for (size_t i = 0; i < length_; ++i)
      scores.insert(scores.end(), {values_[begin + i], values_[begin + length_ + i]});
    return scores;
  }

 private:
  // The label is no token of the context.
  static bool is_nothing(const Json& entry, size_t window) {
    const Json& spans = entry["spans"][window];
    const int64_t first = spans[0], last = first + static_cast<int64_t>(spans[1].size() / 2);
    const int64_t start = entry["batch"]["start_positions"][window];
    return start < first || start >= last;
  }

  size_t length_;
  std::vector<float> values_;
};

struct ScorerFixture : QuestionFixture {
  std::shared_ptr<const data::Dataset> dataset;
  Scoring scoring;
  Json model_config = Json::object();

  explicit ScorerFixture(const Json& entry) : QuestionFixture(entry) {
    arguments.evaluation.n_best_size = entry["n_best_size"];
    arguments.evaluation.max_answer_length = entry.value("max_answer_length", int64_t{30});
    arguments.evaluation.null_score_diff_threshold = entry.value("null_score_diff_threshold", 0.0);
    data::PrepareRequest made = request(entry["file"], entry["content"]);
    std::swap(made.train_files, made.validation_files);
    const data::PreparedData prepared = prepare(made);
    dataset = data::Dataset::open(prepared.validation->cache_path, prepared.validation->columns);
    scoring = answer_scoring(input);
  }
  std::unique_ptr<Scorer> scorer() const {
    return answer_scorer({.options = scoring.options, .model_config = model_config, .dataset = dataset});
  }
  void add(Scorer& scorer, const MadeUpLogits& logits, int64_t window) const {
    const std::vector<float> scores = logits.of(window);
    const std::vector<int64_t> samples = {window};
    scorer.add(
        {.samples = samples,
         .output = {
             .name = "output", .sizes = {static_cast<int64_t>(logits.length()), 2}, .scores = scores}});
  }
};

// Puts the files of a scorer of all samples into its folder, and gives their texts by name.
std::map<std::string, std::string> kept_files(Scorer& scorer, const testing::TemporaryDirectory& folder,
                                              const std::string& prefix) {
  std::map<std::string, std::string> texts;
  for (const ResultFile& file : scorer.files(prefix)) {
    CHECK_FALSE(path_exists(folder / file.name));
    file.grown->keep();
    texts[file.name] = read_file(folder / file.name);
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) ==
        static_cast<int64_t>(texts.size()));
  return texts;
}

Json file_named(const std::map<std::string, std::string>& files, const std::string& name) {
  const auto found = files.find(name);
  return found == files.end() ? Json() : parse_json(found->second, name);
}

void check_lists(const Json& found, const Json& expected) {
  REQUIRE(found.size() == expected.size());
  for (const auto& [id, list] : expected.items()) {
    CAPTURE(id);
    REQUIRE(found.at(id).size() == list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      CHECK(found[id][i]["text"] == list[i]["text"]);
      for (const char* key : {"start_logit", "end_logit", "probability"})
        CHECK(found[id][i][key].get<double>() == Approx(list[i][key].get<double>()).margin(1e-6));
    }
  }
}

TEST_CASE(
    "answers: predictions, n-best lists and metrics are those of the script, whatever ranks windows are on") {
  for (size_t number = 0; number < question_golden()["cases"].size(); ++number) {
    const Json& entry = question_golden()["cases"][number];
    CAPTURE(entry.at("name").get<std::string>());
    const ScorerFixture fixture(entry);
    const MadeUpLogits logits(entry, number);
    const auto first = fixture.scorer(), second = fixture.scorer(), whole = fixture.scorer();
    const testing::TemporaryDirectory folder;
    const ResultPlace place{folder.path(), "eval"};
    whole->expect_all(&place);
    for (int64_t window = fixture.dataset->size() - 1; window >= 0; --window)
      fixture.add(window % 3 == 0 ? *first : *second, logits, window);
    whole->merge(second->state());
    whole->merge(first->state());

    const auto files = kept_files(*whole, folder, "eval");
    CHECK(file_named(files, "eval_predictions.json") == entry["predictions"]);
    check_lists(file_named(files, "eval_nbest_predictions.json"), entry["nbest"]);
    const Json odds = file_named(files, "eval_null_odds.json");
    CHECK(odds.is_null() == entry["null_odds"].empty());
    for (const auto& [id, value] : entry["null_odds"].items())
      CHECK(odds[id].get<double>() == Approx(value.get<double>()).margin(1e-6));
    std::map<std::string, double> results;
    for (const auto& [key, value] : whole->results()) results[key] = value;
    for (const auto& [key, value] : entry["metrics"].items())
      CHECK(results.at(key) == Approx(value.get<double>()).margin(1e-9));
    for (const std::string& key : fixture.scoring.metrics) {
      const bool of_some = key.starts_with("NoAns");  // where there are such questions
      if (!of_some) CHECK(results.count(key) == 1);
    }
  }
}

TEST_CASE("answers: files have a line for each question, in the order of the rows") {
  const Json& entry = question_golden()["cases"][9];
  const ScorerFixture fixture(entry);
  const testing::TemporaryDirectory empty, folder;
  const ResultPlace nowhere{empty.path(), "predict"}, place{folder.path(), "predict"};
  const auto none = fixture.scorer(), scorer = fixture.scorer();
  none->expect_all(&nowhere);
  CHECK(kept_files(*none, empty, "predict").at("predict_predictions.json") == "{}\n");
  CHECK(none->results().empty());
  scorer->expect_all(&place);
  const MadeUpLogits logits(entry, 9);
  for (int64_t window = 0; window < fixture.dataset->size(); ++window) fixture.add(*scorer, logits, window);
  const auto files = kept_files(*scorer, folder, "predict");
  REQUIRE(files.size() == 2);
  const std::string &answers = files.at("predict_predictions.json"),
                    &lists = files.at("predict_nbest_predictions.json");
  CHECK(answers.starts_with("{\n    \"q0\": \"owl\",\n    \"q1\": "));
  CHECK(answers.ends_with("\"\n}\n"));
  CHECK(lists.starts_with("{\n    \"q0\": [\n        {\n            \"end_logit\": "));
}

TEST_CASE("answers: nothing is kept of a question whose windows were all seen, in pieces too") {
  const Json& entry = question_golden()["cases"][0];
  const ScorerFixture fixture(entry);
  const MadeUpLogits logits(entry, 0);
  const auto piece = fixture.scorer(), whole = fixture.scorer(), straight = fixture.scorer();
  for (Scorer* one : {whole.get(), straight.get()}) one->expect_all(nullptr);
  const int64_t windows = fixture.dataset->size();
  REQUIRE(windows > 4);
  REQUIRE(piece->goes_in_pieces());
  for (int64_t window = 0; window < windows; ++window) {
    fixture.add(*piece, logits, window);
    fixture.add(*straight, logits, window);
    if (window % 2 == 0) continue;
    CHECK_FALSE(piece->state().empty());  // only who has all may forget
    whole->merge(piece->state());
    piece->forget();
  }
  CHECK((windows % 2 == 0) == piece->state().empty());
  whole->merge(piece->state());
  CHECK(straight->state().empty());
  CHECK(whole->state().empty());
  CHECK(whole->results() == straight->results());
  CHECK_FALSE(whole->results().empty());
  CHECK(whole->files("eval").empty());  // nowhere to write them
}

TEST_CASE("answers: what is kept of a window does not grow with its length, and the plan knows") {
  const Json& entry = question_golden()["cases"][0];
  const ScorerFixture fixture(entry);
  const auto scorer = fixture.scorer();
  fixture.add(*scorer, MadeUpLogits(entry, 0), 3);
  CHECK(fixture.scoring.outputs == OutputForm::kScores);
  CHECK(static_cast<int64_t>(scorer->state().size() * sizeof(double)) <=
        fixture.scoring.bytes_per_pending_sample);
  CHECK(fixture.scoring.bytes_per_pending_sample < 1000);
  CHECK(fixture.scoring.bytes_per_sample == 0);
}

TEST_CASE("answers: questions are judged only where their answers are known") {
  const Json& entry = question_golden()["cases"][0];
  ScorerFixture fixture(entry);
  const auto judged = [&](const std::string& rows) {
    data::PrepareRequest request = fixture.request("test.jsonl", rows);
    std::swap(request.train_files, request.test_files);
    const data::PreparedData prepared = fixture.prepare(request);
    fixture.dataset = data::Dataset::open(prepared.test->cache_path, prepared.test->columns);
    const auto scorer = fixture.scorer();
    const MadeUpLogits logits(entry, 0);
    for (int64_t window = 0; window < fixture.dataset->size(); ++window) fixture.add(*scorer, logits, window);
    return !scorer->results().empty();
  };
  const std::string begin = R"({"id": "a", "question": "Who?", "context": "Ada.")";
  CHECK(judged(begin + R"(, "answers": {"text": ["Ada"], "answer_start": [0]}})"));
  CHECK_FALSE(judged(begin + "}"));
  CHECK_FALSE(judged(begin + R"(, "answers": {"text": [], "answer_start": []}})"));
}

}  // namespace
}  // namespace hftrain::tasks
