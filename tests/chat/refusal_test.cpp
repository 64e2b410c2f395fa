#include "chat/chat_cases.h"
#include "support/catch.h"

namespace hftrain::chat {
namespace {

bool says(const std::string& message, std::initializer_list<const char*> parts) {
  INFO(message);
  bool all = true;
  for (const char* part : parts) {
    INFO(part);
    CHECK(message.find(part) != std::string::npos);
    all = all && message.find(part) != std::string::npos;
  }
  return all;
}

}  // namespace

TEST_CASE("what a template raises is told in its own words, with the place") {
  CHECK(says(refusal("a\n  {{ raise_exception('Only users here: ' ~ 1) }}"),
             {"refuses this conversation: Only users here: 1", "where: t.jinja:2:21", "try: "}));
}

TEST_CASE("what is not there is named with line and column") {
  CHECK(says(refusal("{% if true %}\n é {% include 'x' %}{% endif %}"),
             {"the tag 'include' is not supported", "t.jinja:2:7"}));
  CHECK(says(refusal("{{ 'a'\n | urlize }}"), {"the filter 'urlize' is not supported", "t.jinja:2:4"}));
  CHECK(says(refusal("{{ x | frobnicate }}"), {"No filter named 'frobnicate'.", "t.jinja:1:8"}));
  CHECK(says(refusal("{{ x is frobnicated }}"), {"No test named 'frobnicated'.", "t.jinja:1:9"}));
  CHECK(says(refusal("{{ lipsum() }}"), {"not supported: the name 'lipsum'", "t.jinja:1:4"}));
  CHECK(says(refusal("{{ 'x'.encode() }}"), {"not supported: the method encode() of texts", "t.jinja:1:7"}));
  CHECK(says(refusal("{{ [1] | map('string') }}"), {"not supported: printing an iterator", "t.jinja:1:"}));
  CHECK(
      says(refusal("{{ 9223372036854775807 + 1 }}"), {"not supported: whole numbers of more than 64 bits"}));
}

TEST_CASE("what Python would raise is told with the place") {
  CHECK(says(refusal("{{ a.b.c }}", R"({"a": {}})"),
             {"fails on this conversation", "t.jinja:1:7", "'dict object' has no attribute 'b'"}));
  CHECK(says(refusal("{{ messages[0].content + 'x' }}"), {"'messages' is undefined"}));
  CHECK(says(refusal("{{ 'a' + 1 }}"), {"can only concatenate str (not \"int\") to str", "t.jinja:1:8"}));
  CHECK(says(refusal("{{ 1 | length }}"), {"object of type 'int' has no len()", "t.jinja:1:8"}));
}

TEST_CASE("broken templates are refused where they break") {
  CHECK(says(refusal("a\nb {{ x"), {"cannot be read", "t.jinja:2:"}));
  CHECK(says(refusal("{% if x %}"), {"ends before the tag", "'endif'"}));
  CHECK(says(refusal("{% for x in y %}{% endif %}"), {"unknown tag 'endif'", "t.jinja:1:20"}));
  CHECK(says(refusal("{{ 'a' 5 }}"), {"expected '}}', got a number"}));
  CHECK(says(refusal("\xff{{ 1 }}"), {"not UTF-8"}));
  CHECK(says(refusal("{{ '\\ud800' }}"), {"half a character"}));
}

}  // namespace hftrain::chat
