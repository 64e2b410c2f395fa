#include "chat/chat_cases.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::chat {
namespace {

const std::string kFolder = "/tests/golden/chat/";

}  // namespace

TEST_CASE("conversations become the text that transformers makes of them") {
  const CaseCounts counts = compare_with_cases(testing::source_dir() + kFolder + "conversations.jsonl");
  INFO(counts.first_differences);
  CHECK(counts.differences == 0);
  CHECK(counts.cases >= 400);
}

TEST_CASE("every part of the language means what the Jinja package means by it") {
  const CaseCounts counts = compare_with_cases(testing::source_dir() + kFolder + "expressions.jsonl");
  INFO(counts.first_differences);
  CHECK(counts.differences == 0);
  CHECK(counts.cases >= 300);
  CHECK(counts.errors >= 50);
}

TEST_CASE("a case that differs is found") {
  const std::string source = "{{ 1 + 1 }}";
  CHECK(render(source) == "2");
  CHECK(render("{{ x }}", R"({"x": {"b": 1, "a": [null, true]}})") == "{'b': 1, 'a': [None, True]}");
}

}  // namespace hftrain::chat
