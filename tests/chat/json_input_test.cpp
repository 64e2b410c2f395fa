#include "hftrain/chat/json_input.h"
#include "chat/chat_cases.h"
#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::chat {

TEST_CASE("keys of a conversation keep their order, and the last value of one that comes twice") {
  CHECK(render("{{ x | tojson }}", R"({"x": {"z": 1, "a": 2.0, "m": [1e2, null], "z": "é"}})") ==
        R"({"z": "é", "a": 2.0, "m": [100.0, null]})");
}

TEST_CASE("a broken conversation is refused with its place") {
  CHECK_REFUSED(value_from_json("{\"a\": }", "chats.jsonl:3"), "where: chats.jsonl:3, byte 7");
  CHECK_REFUSED(value_from_json(std::string(101, '[') + std::string(101, ']'), "chats.jsonl:3"),
                "where: chats.jsonl:3\n  why: arrays and objects stand in each other more than 100 deep");
  CHECK_NOTHROW(value_from_json(std::string(100, '[') + std::string(100, ']'), "chats.jsonl:3"));
  try {
    value_from_json("[1, ]", "chats.jsonl:3");
    FAIL("read");
  } catch (const Error& error) {
    CHECK(error.render().find("chats.jsonl:3, byte 5") != std::string::npos);
  }
}

TEST_CASE("generation marks are seen without rendering") {
  CHECK(ChatTemplate::parse("{% if x %}{% generation %}{% endgeneration %}{% endif %}", "t")
            .marks_generation());
  CHECK_FALSE(ChatTemplate::parse("{{ 'generation' }}", "t").marks_generation());
}

}  // namespace hftrain::chat
