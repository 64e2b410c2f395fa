// The first lines of a connection between agents: who must prove what to whom.
#include "launcher/control/greeting.h"

#include "support/catch.h"

namespace hftrain::launcher {
namespace {

const Challenge kAsks{std::string(32, 'a'), true};
const std::string kNumber(32, 'b');

std::string without_newline(std::string line) {
  REQUIRE(line.back() == '\n');
  line.pop_back();
  return line;
}

bool proves(const std::string& line, const JobKey& key, const std::string& challenge) {
  const auto parts = split_hello(line);
  REQUIRE(parts);
  return key.proves(parts->proof, JobKey::Side::kFollower, challenge, parts->number, parts->text);
}

}  // namespace

TEST_CASE("a keyed hash is HMAC-SHA-256 of the key that secret and token make") {
  // HMAC-SHA-256 keyed with "secret" of "hftrain job\ntoken" keys that of "leader\n…", by Python's hmac.
  CHECK(JobKey("secret", "token").proof(JobKey::Side::kLeader, "1", "2", "text") ==
        "b77574e67d53af6d411b6536e60efc1680b3de6c866a90afdbb527fb9c1a9155");
  CHECK(JobKey().proof(JobKey::Side::kLeader, "1", "2", "text") == "-");
}

TEST_CASE("a greeting proves that one knows the secret, for this connection and these words only") {
  const JobKey key("secret", "");
  const Hello hello{.job_id = "job", .agent = 1, .agents = 2, .host = "host-1"};
  const std::string line = without_newline(hello_line(hello, key, kAsks, kNumber));
  CHECK(line.find("secret") == std::string::npos);
  CHECK(proves(line, key, kAsks.number));
  CHECK(read_hello(split_hello(line)->text)->host == "host-1");
  CHECK_FALSE(proves(line, JobKey("other", ""), kAsks.number));
  CHECK_FALSE(proves(line, JobKey("secret", "token"), kAsks.number));
  CHECK_FALSE(proves(line, key, std::string(32, 'c')));  // said again on another connection
  std::string changed = line;
  changed.replace(changed.find("host-1"), 6, "host-2");
  CHECK_FALSE(proves(changed, key, kAsks.number));
  CHECK_FALSE(proves(without_newline(hello_line(hello, JobKey(), kAsks, kNumber)), key, kAsks.number));
}

TEST_CASE("agent 0 proves the same the other way, and not with what a follower has said") {
  const JobKey key("secret", "");
  const std::string line = without_newline(welcome_line(Welcome{"host-0"}, key, kAsks, kNumber));
  CHECK(read_answer(line, key, kAsks, kNumber).welcome->host == "host-0");
  CHECK_FALSE(read_answer(line, JobKey("other", ""), kAsks, kNumber).welcome);
  CHECK_FALSE(read_answer(line, key, kAsks, std::string(32, 'c')).welcome);
  const std::string open = without_newline(welcome_line(Welcome{"host-0"}, JobKey(), kAsks, kNumber));
  CHECK_FALSE(read_answer(open, key, kAsks, kNumber).welcome);
  CHECK(read_answer(open, JobKey(), kAsks, kNumber).welcome);
  CHECK(key.proof(JobKey::Side::kLeader, "1", "2", "x") != key.proof(JobKey::Side::kFollower, "1", "2", "x"));
}

TEST_CASE("a refusal is heard, however long its text is, and proven to who knows the secret") {
  const JobKey key("secret", "");
  const Refusal refusal{2, std::string(100'000, '\x01')};
  const std::string line = without_newline(refusal_line(refusal, key, kAsks, kNumber));
  CHECK(line.size() <= kLongestGreeting);
  const Answer answer = read_answer(line, key, kAsks, kNumber);
  REQUIRE(answer.refusal);
  CHECK(answer.proven);
  CHECK(answer.refusal->exit_code == 2);
  CHECK_FALSE(answer.refusal->text.empty());
  for (const std::string& forged :
       {without_newline(refusal_line(refusal, key, kAsks, "")),
        without_newline(refusal_line(refusal, key, kAsks, std::string(32, 'c'))),
        without_newline(refusal_line(refusal, JobKey("other", ""), kAsks, kNumber)),
        without_newline(refusal_line(refusal, JobKey(), kAsks, kNumber))}) {
    const Answer other = read_answer(forged, key, kAsks, kNumber);
    CHECK(other.refusal);
    CHECK_FALSE(other.proven);
  }
  // Where there is no secret everybody is believed.
  CHECK(read_answer(without_newline(refusal_line(refusal, JobKey(), kAsks, "")), JobKey(), kAsks, kNumber)
            .proven);
  CHECK(read_answer(line, JobKey(), kAsks, kNumber).proven);
  const std::string without_word =
      "hftrain 1 refused {\"message\":\"refusal\",\"exit_code\":0,\"text\":\"fine\"}";
  CHECK_FALSE(read_answer(without_word, key, kAsks, kNumber).refusal);
}

TEST_CASE("what is no greeting is not taken for one") {
  for (const char* line : {"", "hftrain 1 ", "hftrain 2 0123456789abcdef0123456789abcdef open",
                           "hftrain 1 0123456789ABCDEF0123456789abcdef open",
                           "hftrain 1 0123456789abcdef0123456789abcdef", "GET / HTTP/1.1"}) {
    INFO(line);
    CHECK_FALSE(read_challenge(line));
  }
  for (const char* line : {"", "hftrain 1 x - {}", "hftrain 1 0123456789abcdef0123456789abcdef"}) {
    INFO(line);
    CHECK_FALSE(split_hello(line));
  }
  CHECK_FALSE(split_hello("hftrain 1 " + kNumber + " - " + std::string(kLongestGreeting, 'x')));
  CHECK_FALSE(read_hello("{}"));
  CHECK_FALSE(read_hello(R"({"message":"heartbeat","count":1})"));
  const auto challenge = read_challenge(without_newline(challenge_line(kAsks)));
  REQUIRE(challenge);
  CHECK(challenge->number == kAsks.number);
  CHECK(challenge->secret);
}

TEST_CASE("numbers are drawn anew each time") {
  CHECK(is_random_number(random_number()));
  CHECK(random_number() != random_number());
}

}  // namespace hftrain::launcher
