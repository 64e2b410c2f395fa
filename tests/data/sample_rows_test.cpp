// Example rows of questions and of pairs of texts: the same bytes for a seed, and what they promise.
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/data/sample_classes.h"
#include "hftrain/data/sample_instructions.h"
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
  for (const auto& make :
       {sample_questions, sample_sequences, sample_classes, sample_pairs, sample_instructions}) {
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

// What is right of a row, by the rule of its header.
std::string right_class(const Json& row) {
  if (row.contains("sentence2")) {
    const std::string first = split_words(row["sentence1"].get<std::string>())[1];
    return row["sentence2"].get<std::string>().find(' ' + first + ' ') != std::string::npos ? "same"
                                                                                            : "different";
  }
  const std::string last = split_words(row["sentence"].get<std::string>()).back();
  if (last == "splendid" || last == "lovely" || last == "perfect") return "good";
  return last == "awful" || last == "dreary" || last == "broken" ? "bad" : "fair";
}

TEST_CASE("sample rows: a class follows from its texts but for one row in ten, which is the floor") {
  struct Case {
    std::string (*make)(uint64_t, int64_t);
    ClassFloor (*floor)();
    std::set<std::string> classes;
  };
  for (const Case& kind : {Case{sample_classes, sample_classes_floor, {"good", "fair", "bad"}},
                           Case{sample_pairs, sample_pairs_floor, {"same", "different"}}}) {
    std::map<std::string, double> given;
    double rows = 0, right = 0;
    for (const Json& row : sampled_rows(kind.make(5, 1 << 20))) {
      given[row["label"]] += 1;
      rows += 1;
      if (row["label"] == right_class(row)) right += 1;
    }
    CHECK(given.size() == kind.classes.size());
    for (const auto& [name, count] : given) {
      CHECK(kind.classes.count(name) == 1);
      CHECK(count / rows == Approx(1.0 / static_cast<double>(given.size())).margin(0.02));
    }
    const double p = right / rows, each = (1 - p) / static_cast<double>(given.size() - 1);
    CHECK(kind.floor().accuracy == Approx(p).margin(0.01));
    CHECK(kind.floor().nats_per_row == Approx(-p * std::log(p) - (1 - p) * std::log(each)).margin(0.03));
  }
}

TEST_CASE("sample rows: an answer of the assistant follows from the question before it") {
  std::map<std::string, std::string> answers;
  for (const Json& row : sampled_rows(sample_instructions(7, kBytes))) {
    const Json& messages = row["messages"];
    REQUIRE(messages.size() == 2);
    CHECK(messages[0]["role"] == "user");
    CHECK(messages[1]["role"] == "assistant");
    const auto question = messages[0]["content"].get<std::string>(),
               answer = messages[1]["content"].get<std::string>();
    CHECK(answers.emplace(question, answer).first->second == answer);
    int a = 0, b = 0;
    if (std::sscanf(question.c_str(), "What is %d plus %d?", &a, &b) == 2)
      CHECK(answer == "It is " + std::to_string(a + b) + ".");
  }
  CHECK(answers.size() > 50);
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
