#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "hftrain/base/error.h"
#include "hftrain/metrics/answer_candidates.h"
#include "hftrain/metrics/bleu.h"
#include "hftrain/metrics/correlation.h"
#include "hftrain/metrics/python_text.h"
#include "hftrain/metrics/rouge.h"
#include "hftrain/metrics/seqeval.h"
#include "hftrain/metrics/shared_subsequence.h"
#include "hftrain/metrics/squad.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::metrics {
namespace {

using Texts = std::vector<std::string>;

// The whole table and the way back through it, as rouge-score does it.
std::vector<bool> marked_by_table(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<std::vector<int>> table(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      table[i][j] =
          a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : std::max(table[i - 1][j], table[i][j - 1]);
    }
  }
  std::vector<bool> marked(a.size());
  for (size_t i = a.size(), j = b.size(); i > 0 && j > 0;) {
    if (a[i - 1] == b[j - 1]) {
      marked[--i] = true;
      --j;
    } else if (table[i][j - 1] > table[i - 1][j]) {
      --j;
    } else {
      --i;
    }
  }
  return marked;
}

}  // namespace

TEST_CASE("any bytes have every metric of texts") {
  std::mt19937 random(5);
  std::vector<RougeKind> kinds;
  for (const char* name : {"rouge1", "rouge9", "rougeL", "rougeLsum"}) kinds.push_back(rouge_kind(name));
  for (int round = 0; round < 500; ++round) {
    Texts texts(2);
    for (std::string& text : texts) {
      for (size_t n = random() % 40; n > 0; --n) {
        text += static_cast<char>(round % 2 == 0 ? random() : random() % 2 == 0 ? 'a' : 0xC0 + random() % 64);
      }
    }
    const Texts references{texts[1]};
    CHECK(std::isfinite(rouge(texts[0], references, kinds, true).back().f1));
    for (const auto tokenizer : {BleuTokenizer::k13a, BleuTokenizer::kIntl, BleuTokenizer::kChar}) {
      CHECK(std::isfinite(bleu_score(bleu_counts(texts[0], references, {tokenizer, true})).score));
    }
    CHECK(std::isfinite(squad_score(texts[0], references).f1));
    SeqevalCounts counts;
    counts.add(0, texts, texts);
    counts.add(0, texts, texts, TagScheme::kLenient, true);
    CHECK(counts.accuracy() == 1);
  }
}

TEST_CASE("a text equals itself under every metric") {
  const std::string text = "The cat, 3.5 of them, sat on “Straße”.";
  const Texts references{text};
  CHECK(bleu_score(bleu_counts(text, references)).score == Approx(100));
  CHECK(squad_score(text, references).f1 == 1);
  CHECK(rouge(text, references, std::vector{rouge_kind("rougeLsum")})[0].f1 == 1);
}

TEST_CASE("the subsequence read out is that of the whole table, which is never held") {
  std::mt19937 random(9);
  for (int round = 0; round < 60; ++round) {
    std::vector<int> a(random() % 200), b(random() % 90);
    for (int& word : a) word = static_cast<int>(random() % 5);
    for (int& word : b) word = static_cast<int>(random() % 5);
    std::vector<bool> marked(a.size());
    mark_shared_subsequence(a, b, marked);
    const auto length = static_cast<size_t>(std::count(marked.begin(), marked.end(), true));
    CHECK(marked == marked_by_table(a, b));
    CHECK(length == shared_subsequence_length(a, b));
    CHECK(length == shared_subsequence_length(b, a));
  }
}

TEST_CASE("a loss that is too large has an infinite perplexity") {
  CHECK(perplexity(0) == 1);
  CHECK(perplexity(2.5) == Approx(std::exp(2.5)));
  CHECK(std::isinf(perplexity(710)));
  CHECK(std::isnan(perplexity(std::nan(""))));
}

TEST_CASE("moments are merged without losing digits to a large mean") {
  PairMoments whole, first, second;
  for (int i = 0; i < 1000; ++i) {
    const double x = 1e8 + i % 17, y = -1e8 + i % 17 + (i % 5) * 0.25;
    whole.add(x, y);
    (i < 300 ? first : second).add(x, y);
  }
  first.merge(second);
  first.merge({});
  CHECK(first.count == 1000);
  CHECK(first.pearson() == Approx(whole.pearson()).epsilon(1e-10));
  CHECK(first.pearson() > 0.99);
}

TEST_CASE("equal values share the mean of their ranks") {
  const std::vector<double> values{3, 1, 3, 2, 3};
  CHECK(average_ranks(values) == std::vector<double>{4, 1, 4, 2, 4});
  CHECK(average_ranks({}).empty());
}

TEST_CASE("tags that a scheme does not have are refused with the letters that it has") {
  const Texts tags{"B-PER", "X-PER"};
  CHECK(find_entities(tags, TagScheme::kLenient).size() <= 2);
  try {
    find_entities(tags, TagScheme::kIob2);
    FAIL("X-PER was accepted");
  } catch (const Error& error) {
    CHECK_THAT(error.render(), Catch::Contains("X-PER") && Catch::Contains("IOB2"));
  }
  CHECK_REFUSED(find_entities(Texts{""}, TagScheme::kIobes), "'' is no tag of IOBES");
  CHECK_REFUSED(tag_scheme("IOB3"), "unknown scheme of tags 'IOB3'");
  CHECK_REFUSED(rouge_kind("rouge0"), "unknown kind of ROUGE 'rouge0'");
  CHECK_REFUSED(bleu_tokenizer("zh"), "unknown tokenizer of BLEU 'zh'");
  CHECK_REFUSED(bleu_smoothing("add"), "unknown smoothing of BLEU 'add'");
}

TEST_CASE("an answer exists for logits of any kind") {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinite = std::numeric_limits<float>::infinity();
  const std::vector<float> wild{nan, infinite, -infinite, 0, nan, 3};
  const std::vector<ContextSpan> spans{{-1, -1}, {0, 2}, {1, 99}, {5, 2}, {3, 4}};
  const AnswerFeature feature{wild, wild, spans};
  for (const bool version_2 : {false, true}) {
    const AnswerPrediction prediction =
        predict_answer("äbc", std::vector{feature, AnswerFeature{}}, {20, 30, version_2, 0});
    CHECK_FALSE(prediction.n_best.empty());
    CHECK(prediction.null_odds.has_value() == version_2);
    const AnswerPrediction none = predict_answer("", {}, {0, 0, version_2, 0});
    CHECK(none.n_best.size() == 1);
    CHECK(none.n_best[0].text == "empty");
  }
}

TEST_CASE("of equal logits the later position answers") {
  const std::vector<float> flat{0, 1, 1, 1};
  const std::vector<ContextSpan> spans{{-1, -1}, {0, 1}, {2, 3}, {4, 5}};
  const AnswerFeature feature{flat, flat, spans};
  CHECK(predict_answer("a b c", std::vector{feature}).text == "c");
}

TEST_CASE("a piece keeps no more memory than its best answers take") {
  const std::vector<float> logits(64, 1.0F);
  std::vector<ContextSpan> spans;
  for (int64_t at = 0; at < 64; ++at) spans.push_back({at, at + 1});
  const FeatureAnswers answers = feature_answers({logits, logits, spans});  // of 210 possible ones
  CHECK(answers.best.size() == 20);
  CHECK(answers.best.capacity() == 20);
}

}  // namespace hftrain::metrics
