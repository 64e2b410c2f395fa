#include "hftrain/plan/worker_protocol.h"

#include <cmath>
#include <limits>

#include "support/catch.h"

namespace hftrain::plan {
namespace {

TEST_CASE("every kind of event survives the pipe") {
  using Kind = WorkerEvent::Kind;
  for (const Kind kind : {Kind::kReady, Kind::kProgress, Kind::kStep, Kind::kLog, Kind::kMessage,
                          Kind::kCheckpoint, Kind::kFinished, Kind::kFailed}) {
    const std::string line = encode_event({kind, 3, 12.5, {{"step", 7}}});
    CHECK(line.find('\n') == line.size() - 1);
    const auto event = decode_event(line);
    REQUIRE(event);
    CHECK(event->kind == kind);
    CHECK(event->rank == 3);
    CHECK(event->time == 12.5);
    CHECK(event->data["step"] == 7);
  }
}

TEST_CASE("text that cannot be JSON is still carried on one line") {
  const std::string line = encode_event({WorkerEvent::Kind::kMessage, 0, 0, {{"text", "a\nb\xff"}}});
  CHECK(line.find('\n') == line.size() - 1);
  CHECK(decode_event(line)->data["text"].get<std::string>().substr(0, 3) == "a\nb");
}

TEST_CASE("numbers that are not finite survive the pipe as what they are") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Json record = {
      {"loss", infinity}, {"grad_norm", std::nan("")}, {"eval_loss", -infinity}, {"step", 3}};
  const auto event = decode_event(encode_event({WorkerEvent::Kind::kLog, 0, 0, {{"record", record}}}));
  REQUIRE(event);
  const Json& read = event->data["record"];
  CHECK(read["loss"] == infinity);
  CHECK(read["eval_loss"] == -infinity);
  CHECK((read["grad_norm"].is_number() && std::isnan(read["grad_norm"].get<double>())));
  CHECK(read["step"] == 3);
}

TEST_CASE("what is not an event is not decoded") {
  CHECK_FALSE(decode_event(""));
  CHECK_FALSE(decode_event("{\"event\": \"step\", \"ra"));  // torn by a kill
  CHECK_FALSE(decode_event("[1]"));
  CHECK_FALSE(decode_event("{\"event\": 1}"));
  CHECK_FALSE(decode_event("{\"event\": \"dance\"}"));
  CHECK_FALSE(decode_event("warning: plain text"));
}

TEST_CASE("members of a wrong type do not break the reader") {
  CHECK_FALSE(decode_event("{\"event\": \"step\", \"rank\": \"zero\"}"));
  const auto with = [](const char* name, const Json& value) {
    return decode_event(encode_event({WorkerEvent::Kind::kMessage, 0, 0, {{name, value}}})).has_value();
  };
  for (const char* text : {"phase", "text", "path", "reason", "what", "why"}) {
    CHECK_FALSE(with(text, 5));
    CHECK(with(text, "x"));
  }
  for (const char* number : {"level", "exit_code", "step"}) {
    CHECK_FALSE(with(number, "x"));
    CHECK_FALSE(with(number, nullptr));
    CHECK(with(number, 5));
  }
  for (const char* object : {"record", "stats"}) {
    CHECK_FALSE(with(object, 5));
    CHECK(with(object, Json::object()));
  }
  CHECK(with("tokens_per_second", nullptr));  // no number that JSON knows
}

TEST_CASE("a number that does not fit where it is read makes a line no event") {
  const auto with = [](const std::string& rank, const std::string& member, const std::string& value) {
    const std::string line = R"({"event": "step", "time": 0, "rank": )" + rank + R"(, "data": {")" + member +
                             R"(": )" + value + "}}";
    CHECK_NOTHROW(decode_event(line));
    return decode_event(line).has_value();
  };
  CHECK(with("2147483647", "step", "1"));
  for (const char* rank : {"2147483648", "4294967296", "-2147483649", "18446744073709551615"})
    CHECK_FALSE(with(rank, "step", "1"));
  for (const char* member : {"level", "exit_code"}) {
    CHECK(with("0", member, "-2147483648"));
    CHECK_FALSE(with("0", member, "4294967296"));
    CHECK_FALSE(with("0", member, "9223372036854775808"));
  }
  for (const char* member : {"step", "done", "total"}) {
    CHECK(with("0", member, "9223372036854775807"));
    CHECK_FALSE(with("0", member, "9223372036854775808"));
    CHECK_FALSE(with("0", member, "1e300"));
  }
}

}  // namespace
}  // namespace hftrain::plan
