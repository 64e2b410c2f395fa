// Example rows of questions and of pairs of texts: the same bytes for a seed, and what they promise.
#include <map>
#include <set>

#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/data/sample_questions.h"
#include "hftrain/data/sample_sequences.h"
#include "support/catch.h"

namespace hftrain::data {
namespace {

constexpr int64_t kBytes = 20'000;

std::vector<Json> sampled_rows(const std::string& text) {
  std::vector<Json> rows;
  for (const std::string& line : split(text, '\n')) {
    if (!line.empty()) rows.push_back(parse_json(line, "sample"));
  }
  return rows;
}

TEST_CASE("sample rows: a seed gives the same bytes, at most as many as asked for, and another seed others") {
  for (const auto& make : {sample_questions, sample_sequences}) {
    const std::string text = make(7, kBytes);
    CHECK(text == make(7, kBytes));
    CHECK(text != make(8, kBytes));
    CHECK(text.size() <= kBytes);
    CHECK(text.size() > kBytes - 500);
    CHECK(text.starts_with(make(7, 1)));
    CHECK(text.back() == '\n');
  }
}

TEST_CASE("sample rows: an answer stands once in its context, and the question says of which sort it is") {
  std::map<std::string, std::set<std::string>> answers;
  std::set<std::string> ids;
  for (const Json& row : sampled_rows(sample_questions(7, kBytes))) {
    const auto context = row["context"].get<std::string>(),
               answer = row["answers"]["text"][0].get<std::string>();
    const auto start = row["answers"]["answer_start"][0].get<size_t>();
    CHECK(context.substr(start, answer.size()) == answer);
    CHECK(context.find(answer) == context.rfind(answer));
    answers[row["question"]].insert(answer);
    CHECK(ids.insert(row["id"]).second);
  }
  CHECK(answers.size() == 5);
  std::set<std::string> all;
  for (const auto& [question, some] : answers) {
    for (const std::string& answer : some) CHECK(all.insert(answer).second);
  }
}

TEST_CASE("sample rows: a summary is the marked sentence, and each word has one translation") {
  std::map<std::string, std::string> dictionary;
  for (const Json& row : sampled_rows(sample_sequences(7, kBytes))) {
    const auto text = row["text"].get<std::string>(), summary = row["summary"].get<std::string>();
    CHECK(text.find("note " + summary) != std::string::npos);
    CHECK(text.find("note") == text.rfind("note"));
    const std::vector<std::string> plain = split_words(row["translation"]["plain"].get<std::string>());
    const std::vector<std::string> cipher = split_words(row["translation"]["cipher"].get<std::string>());
    REQUIRE(plain.size() == cipher.size());
    for (size_t i = 0; i < plain.size(); ++i)
      CHECK(dictionary.emplace(plain[i], cipher[i]).first->second == cipher[i]);
  }
  CHECK(dictionary.size() == 16);
}

}  // namespace
}  // namespace hftrain::data
