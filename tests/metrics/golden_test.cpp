#include "metrics/metric_cases.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::metrics {

TEST_CASE("every metric gives the numbers of its reference package") {
  std::map<std::string, int> cases;
  for (const char* name : {"packages.jsonl", "evaluate.jsonl", "answers.jsonl"}) {
    const CaseCounts counts = compare_with_cases(testing::source_dir() + "/tests/golden/metrics/" + name);
    INFO(counts.first_difference);
    CHECK(counts.differences == 0);
    for (const auto& [kind, count] : counts.cases) cases[kind] += count;
  }
  CHECK(cases.size() == 15);
  CHECK(cases["classes"] >= 100);
  CHECK(cases["tags"] >= 30);
  CHECK(cases["bleu"] >= 40);
  CHECK(cases["answer"] == 40);
}

TEST_CASE("a wrong number, text or key is a difference") {
  const std::string path = testing::source_dir() + "/tests/golden/metrics/packages.jsonl";
  CHECK(our_answer("rounded", Json{{"values", {1.5}}}) == Json{{"python", {1.5}}, {"numpy", {1.5}}});
  CHECK(compare_with_cases(path + ".absent").cases.empty());
}

}  // namespace hftrain::metrics
