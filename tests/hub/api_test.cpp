#include "hftrain/hub/api.h"

#include <stdlib.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "hftrain/hub/lfs_upload.h"
#include "hub/stand_in_server.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

using hftrain::hub::Access;
using hftrain::hub::Api;
using hftrain::testing::StandInServer;

namespace {

const std::string kToken = "hf_secret";

// Of a server that takes a second for a long time.
Access impatient(const StandInServer& server) {
  return {.endpoint = server.address(),
          .token = kToken,
          .stall_seconds = 1,
          .call_seconds = 1,
          .sending_seconds = 1,
          .attempts = 3};
}

bool is_upload(const std::string& request) {
  return request.starts_with("PUT ");
}

std::string place_for_all(const std::string& address, const std::string& oids) {
  std::string objects;
  for (const char digit : oids)
    objects += std::string(objects.empty() ? "" : ",") + R"({"oid": ")" + std::string(64, digit) +
               R"(", "actions": {"upload": {"href": ")" + address + R"(/put"}}})";
  return R"({"objects": [)" + objects + "]}";
}

}  // namespace

TEST_CASE("a server that says nothing is asked twice, one that breaks connections more often", "[hub]") {
  const bool says_nothing = GENERATE(true, false);
  StandInServer server([&](int connection, const std::string&) {
    if (says_nothing) StandInServer::say_nothing(connection);
  });
  Api api(impatient(server));
  CHECK(api.ask("/api/whoami-v2").status == 0);
  CHECK(server.requests() == (says_nothing ? 2 : 3));
}

TEST_CASE("a store that says nothing is left with the first file", "[hub]") {
  std::string address;
  int uploads = 0;
  StandInServer server([&](int connection, const std::string& request) {
    uploads += is_upload(request) ? 1 : 0;
    if (is_upload(request)) return StandInServer::say_nothing(connection);
    StandInServer::say(connection, 200, place_for_all(address, "ab"));
  });
  address = server.address();
  const hftrain::testing::TemporaryDirectory folder;
  std::ofstream(folder / "file") << "bytes";
  Api api(impatient(server));
  CHECK_REFUSED(upload_large_files(
                    api, {"org/name"}, "main",
                    {{folder / "file", std::string(64, 'a'), 5}, {folder / "file", std::string(64, 'b'), 5}}),
                "the Hub cannot be reached");
  CHECK(uploads == 2);
}

TEST_CASE("a refusal that drips, or has no body at all, is a refusal", "[hub]") {
  const bool drips = GENERATE(true, false);
  StandInServer server([&](int connection, const std::string&) {
    StandInServer::write(connection, "HTTP/1.1 403 No\r\nContent-Length: 1000000\r\n\r\n");
    while (drips && StandInServer::write(connection, " "))
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (!drips) StandInServer::say_nothing(connection);
  });
  Api api(impatient(server));
  hftrain::http::Request large = Api::post({{"text", std::string(100000, 'x')}});  // has as long as it moves
  CHECK(api.ask("/api/models/org/name/commit/main", large).status == 403);
  CHECK(server.requests() == 1);
}

TEST_CASE("what is answered to a file or a commit does not drip for ever", "[hub]") {
  StandInServer server([&](int connection, const std::string&) {
    StandInServer::write(connection, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (StandInServer::write(connection, " ")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  Api api(impatient(server));
  const hftrain::http::Answer answer =
      api.ask("/api/models/org/name/commit/main", Api::post({{"text", std::string(100000, 'x')}}));
  CHECK(answer.status == 0);
  CHECK(answer.failure == "its answer has no end");
  CHECK(server.requests() == 2);
}

TEST_CASE("nothing is asked of addresses that are not of the web, or without the TLS of the Hub", "[hub]") {
  Api api({.endpoint = "https://hub.example"});
  for (const char* address :
       {"file:///etc/passwd", "", "hub.example/x", "ftp://hub.example", "http://hub.example/x"})
    CHECK_REFUSED(api.once(address, {}), "the Hub names an address that is not gone to");
}

TEST_CASE("what a proxy says of the way to a server is no answer of the server", "[hub]") {
  StandInServer proxy([](int connection, const std::string&) {
    StandInServer::write(connection, "HTTP/1.1 200 Connected\r\nX-Of-The-Proxy: yes\r\n\r\n");
  });
  ::setenv("https_proxy", proxy.address().c_str(), 1);
  hftrain::http::Client client({.seconds = 10});
  const hftrain::http::Answer answer = client.send({.url = "https://hub.example/"});
  ::unsetenv("https_proxy");
  CHECK(proxy.requests() == 1);
  CHECK(answer.status == 0);
  CHECK(answer.headers.empty());  // or an upload would count as answered from its beginning
}

TEST_CASE("the Hub is asked again when it says that it wants to be", "[hub]") {
  using hftrain::hub::asked_seconds;
  CHECK(asked_seconds(
            {.status = 429, .headers = {{"retry-after", "7"}, {"ratelimit", R"("api";r=0;t=55)"}}}) == 7);
  CHECK(asked_seconds({.status = 429, .headers = {{"ratelimit", R"("api";r=0;t=55)"}}}) == 56);
  CHECK(asked_seconds({.status = 503, .headers = {{"ratelimit", R"("api";r=0;t=55)"}}}) == 0);
  CHECK(asked_seconds({.status = 429, .headers = {{"ratelimit", "soon;t=x"}}}) == 0);
  StandInServer server([](int connection, const std::string&) {
    StandInServer::write(
        connection, "HTTP/1.1 429 Too Many\r\nRateLimit: \"api\";r=0;t=299\r\nContent-Length: 0\r\n\r\n");
  });
  Access access = impatient(server);
  access.attempts = 2;
  access.longest_wait = 60;
  std::vector<double> told;
  std::atomic<bool> stop = false;
  access.waits = [&](double seconds, const std::string& why) {
    CHECK(why == "the Hub takes no more requests for now");
    told.push_back(seconds);
    stop = true;  // or it would wait so long
  };
  Api api(access, &stop);
  CHECK(api.ask("/api/whoami-v2").status == 429);
  CHECK(told == std::vector<double>{60});
}

TEST_CASE("before each pause its reason is told, which is a refusal only where it was one", "[hub]") {
  int requests = 0;
  StandInServer server([&](int connection, const std::string&) {
    ++requests;
    if (requests == 1) StandInServer::write(connection, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    if (requests == 2) StandInServer::say(connection, 503, R"({"error": "not hf_secret today"})");
    if (requests == 3) StandInServer::say(connection, 200, "{}");
  });
  Access access = impatient(server);
  std::string told;
  access.waits = [&](double, const std::string& why) { told += why + '\n'; };
  Api api(access);
  CHECK(api.ask("/api/whoami-v2").status == 200);
  CHECK_THAT(told, Catch::StartsWith("no whole answer of the Hub ("));
  CHECK_THAT(told, Catch::EndsWith(")\nthe Hub answers HTTP 503: not <TOKEN> today\n"));
}

TEST_CASE("a call of which nothing comes is cut before one that is slow", "[hub]") {
  const bool slow = GENERATE(true, false);
  StandInServer server([&](int connection, const std::string&) {
    if (!slow) return StandInServer::say_nothing(connection);
    StandInServer::write(connection, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n");
    for (int i = 0; i < 20; ++i) {
      StandInServer::write(connection, "1");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  Access access = impatient(server);
  access.call_seconds = 600;
  access.quiet_seconds = 1;
  Api api(access);
  CHECK(api.ask("/api/whoami-v2").status == (slow ? 200 : 0));
  CHECK(server.requests() == (slow ? 1 : 2));
}

TEST_CASE("a token that a server repeats is not repeated", "[hub]") {
  StandInServer server([](int connection, const std::string& request) {
    const size_t begin = request.find("Authorization: ");
    StandInServer::say(connection, 400,
                       R"({"error": ")" + request.substr(begin, request.find('\r', begin) - begin) + R"("})");
  });
  Access access = impatient(server);
  access.token = GENERATE(as<std::string>{}, kToken, "token");  // the other one stands in its own placeholder
  Api api(access);
  const std::string said = api.refusal(api.ask("/api/x"), {"org/name"}, "").render();
  CHECK(said.find("Authorization: Bearer <") != std::string::npos);
  CHECK(said.find("Bearer " + access.token) == std::string::npos);
}

TEST_CASE("a password of HF_ENDPOINT that a server repeats is not repeated", "[hub]") {
  StandInServer server([](int connection, const std::string& request) {
    const size_t begin = request.find("Authorization: ");
    StandInServer::say(
        connection, 400,
        R"({"error": "pass%20word )" + request.substr(begin, request.find('\r', begin) - begin) + R"("})");
  });
  Access access = impatient(server);
  access.token.clear();
  access.endpoint.insert(access.endpoint.find("//") + 2, "user:pass%20word@");
  Api api(access);
  const std::string said = api.refusal(api.ask("/api/x"), {"org/name"}, "").render();
  INFO(said);
  CHECK(said.find("<PASSWORD> Authorization: Basic <CREDENTIALS>") != std::string::npos);
  CHECK(said.find("pass%20word") == std::string::npos);
  CHECK(said.find("dXNlcjpwYXNz") == std::string::npos);
}

TEST_CASE("an answer with the token in it is read as it came", "[hub]") {
  StandInServer server([](int connection, const std::string&) {
    StandInServer::say(connection, 200, R"({"tokenizer": "token"})");
  });
  Access access = impatient(server);
  access.token = "token";
  Api api(access);
  CHECK(api.ask_json("/api/x", {"org/name"}, "") == hftrain::Json{{"tokenizer", "token"}});
}

TEST_CASE("a token that is not taken and a file that is gone are told as such", "[hub]") {
  hftrain::http::Answer answer;
  const Api api({.endpoint = "http://127.0.0.1:9", .token = kToken});
  answer.status = 401;
  CHECK(std::string(api.refusal(answer, {"org/name"}, "").what()) ==
        "the Hub does not take the access token");
  answer.headers["x-error-code"] = "RepoNotFound";
  CHECK(std::string(api.refusal(answer, {"org/name"}, "").what()).ends_with("is not there, or is private"));
  answer.status = 404;
  answer.headers["x-error-code"] = "EntryNotFound";
  CHECK(std::string(api.refusal(answer, {"org/name"}, "", "a/b.json").what())
            .ends_with("has no file 'a/b.json'"));
  const Api nobody({.endpoint = "http://127.0.0.1:9"});
  answer.status = 401;
  answer.headers.clear();
  CHECK(
      std::string(nobody.refusal(answer, {"org/name"}, "").what()).ends_with("is not there, or is private"));
}
