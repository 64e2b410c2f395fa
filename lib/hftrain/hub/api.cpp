#include "hftrain/hub/api.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "hftrain/base/printable.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/text.h"
#include "hftrain/http/credentials.h"

namespace hftrain::hub {
namespace {

constexpr int kMostRedirects = 5;
constexpr size_t kMostPages = 1000;  // of a thousand files, as the Hub makes them
constexpr double kFirstPause = 0.25, kLongestPause = 8;
constexpr int kMostSilences = 2;
constexpr size_t kShownOfAnAnswer = 300, kLargestCall = size_t{64} << 10;

http::Options options_of(const Access& access, const std::atomic<bool>* stop, double stall_seconds) {
  if (access.offline)
    throw Error(ExitCode::kEnvironment, "the Hub is not asked")
        .where("HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE")
        .why("the environment says that there is no network")
        .hint("unset it, or use what is in the local cache");
  return {.seconds = stall_seconds > 0 ? stall_seconds : std::max(access.call_seconds, access.quiet_seconds),
          .only_stalls = stall_seconds > 0,
          .quiet_seconds = access.quiet_seconds,
          .authorities = access.authorities,
          .stop = stop};
}

std::string header_of(const http::Answer& answer, const char* name) {
  const auto found = answer.headers.find(name);
  return found == answer.headers.end() ? std::string() : found->second;
}

bool redirects(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// scheme://host:port
std::string origin_of(const std::string& url) {
  const size_t scheme = url.find("://");
  return scheme == std::string::npos ? "" : url.substr(0, url.find_first_of("/?#", scheme + 3));
}

Error unreachable(const std::string& endpoint, const std::string& why) {
  return Error(ExitCode::kEnvironment, "the Hub cannot be reached")
      .where(endpoint)
      .why(why)
      .hint(
          "look at the network, https_proxy and HF_ENDPOINT; the same command goes on where this one ended");
}

}  // namespace

double asked_seconds(const http::Answer& answer) {
  const double asked = std::strtod(header_of(answer, "retry-after").c_str(), nullptr);
  if (asked > 0 || answer.status != 429) return std::max(0.0, asked);
  const std::string limit = header_of(answer, "ratelimit");
  const size_t window = limit.find(";t=");
  if (window == std::string::npos) return 0;
  const double left = std::strtod(limit.c_str() + window + 3, nullptr);
  return left > 0 ? left + 1 : 0;
}

bool may_pass(const http::Answer& answer) {
  if (answer.permanent) return false;
  return answer.status == 0 || answer.status == 408 || answer.status == 429 || answer.status >= 500;
}

std::string Api::reason_of(const http::Answer& answer) const {
  if (answer.status == 0) return answer.failure.empty() ? "no answer" : answer.failure;
  std::string text = header_of(answer, "x-error-message");
  const std::optional<Json> body = try_parse_json(answer.body);
  if (text.empty() && body && body->is_object()) {
    const auto error = body->find("error");
    if (error != body->end() && error->is_string()) text = error->get<std::string>();
  }
  return "HTTP " + std::to_string(answer.status) +
         (text.empty() ? "" : ": " + printable(without_secrets(text).substr(0, kShownOfAnAnswer)));
}

Api::Api(Access access, const std::atomic<bool>* stop)
    : access_(std::move(access)),
      stop_(stop),
      client_(options_of(access_, stop, 0)),
      transfer_(options_of(access_, stop, access_.stall_seconds)),
      sending_(options_of(access_, stop, access_.sending_seconds)) {}

bool Api::is_of_endpoint(const std::string& url) const {
  return origin_of(url) == origin_of(access_.endpoint);
}

void Api::check_address(const std::string& url) const {
  const bool without_tls = url.starts_with("http://");
  if (url.starts_with("https://") || (without_tls && !access_.endpoint.starts_with("https://"))) return;
  throw Error(ExitCode::kEnvironment, "the Hub names an address that is not gone to")
      .where(masked("HF_ENDPOINT", printable(without_secrets(origin_of(url)))))
      .why(without_tls ? "it is one without TLS" : "it is none of https:// or http://")
      .hint("is HF_ENDPOINT the address of a Hub?");
}

std::string Api::without_secrets(std::string text) const {
  text = without_secret(std::move(text), access_.token, "token");
  return http::without_password(std::move(text), http::credentials_in(access_.endpoint));
}

http::Answer Api::once(const std::string& target, http::Request request) {
  const std::vector<std::string> headers = request.headers;
  std::string url = target.starts_with('/') ? access_.endpoint + target : target;
  check_address(url);
  for (int hop = 0;; ++hop) {
    request.url = url;
    request.headers = headers;
    request.headers.emplace_back("User-Agent: hftrain");
    // Parts of a file go to a place that was signed for them, which wants no token.
    if (!access_.token.empty() && !request.upload && is_of_endpoint(url))
      request.headers.push_back("Authorization: Bearer " + access_.token);
    const bool sends_much = request.upload.has_value() || request.body.size() > kLargestCall;
    http::Answer answer = (request.take ? transfer_ : sends_much ? sending_ : client_).send(request);
    silence_ = answer.silent;
    const std::string location = header_of(answer, "location");
    if (!redirects(answer.status) || location.empty() || hop == kMostRedirects) return answer;
    const bool kept_secret = url.starts_with("https://");
    url = location.starts_with('/') ? origin_of(url) + location : location;
    if (!url.starts_with("https://") && (kept_secret || !url.starts_with("http://"))) return answer;
    const bool asks_anew = answer.status < 307 && !request.upload;
    if (asks_anew) request.body.clear();
  }
}

std::string Api::reason_of_pause(const http::Answer& answer) const {
  if (answer.status == 429) return "the Hub takes no more requests for now";
  const std::string reason = reason_of(answer);
  return answer.status == 0 ? "no whole answer of the Hub (" + reason + ')' : "the Hub answers " + reason;
}

bool Api::pause_before_retry(int attempt, const http::Answer& answer) const {
  double seconds = std::min(kLongestPause, kFirstPause * static_cast<double>(1 << std::min(attempt, 10)));
  if (const double asked = asked_seconds(answer); asked > 0) seconds = std::min(asked, access_.longest_wait);
  if (access_.waits && !stopped()) access_.waits(seconds, reason_of_pause(answer));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end && !stopped())
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return !stopped();
}

http::Answer Api::ask(const std::string& target, const http::Request& request) {
  Retries retries(*this, access_.attempts);
  for (;;) {
    http::Answer answer = once(target, request);
    if (!retries.again(answer)) return answer;
  }
}

bool Retries::again(const http::Answer& answer) {
  return again(answer, may_pass(answer));
}

bool Retries::again(const http::Answer& answer, bool passes) {
  if (answer.silent) ++silences_;
  if (!passes || ++attempts_ >= most_ || silences_ >= kMostSilences) return false;
  return api_.pause_before_retry(attempts_ - 1, answer);
}

http::Request Api::post(const Json& body) {
  return {.body = body.dump(-1, ' ', false, Json::error_handler_t::replace),
          .headers = {"Content-Type: application/json"}};
}

Error Api::refusal(const http::Answer& answer, const Repository& repository, const std::string& revision,
                   const std::string& file) const {
  const std::string reason = reason_of(answer);
  const std::string where = masked("HF_ENDPOINT", access_.endpoint) + repository.web();
  const std::string code = header_of(answer, "x-error-code");
  const bool with_token = !access_.token.empty();
  if (answer.status == 0) return unreachable(masked("HF_ENDPOINT", access_.endpoint), reason);
  if (code == "GatedRepo")
    return Error(ExitCode::kData, repository.shown() + " is gated")
        .where(where)
        .why(reason)
        .hint("accept its conditions at that address, and give the token of that account by HF_TOKEN");
  if (code == "RevisionNotFound")
    return Error(ExitCode::kData, repository.shown() + " has no revision '" + revision + "'")
        .where(where)
        .why(reason)
        .hint("the name of a branch, a tag or a commit; without one it is main");
  if (code == "EntryNotFound" && !file.empty())
    return Error(ExitCode::kData, repository.shown() + " has no file '" + file + "'")
        .where(where)
        .why(reason + ", though its list of files names it")
        .hint("try again later, or name another commit by --revision");
  // The Hub says so of repositories that are public, too; of what is not there it says so by a code.
  if (answer.status == 401 && code.empty() && with_token) return token_not_taken(answer);
  if (answer.status == 401 || answer.status == 403 || code == "RepoNotFound" || answer.status == 404)
    return Error(ExitCode::kData,
                 repository.shown() + (answer.status == 403 ? " may not be used so by this account"
                                                            : " is not there, or is private"))
        .where(where)
        .why(reason + (with_token ? ", with a token" : ", without a token"))
        .hint(with_token ? "look at the name, and whether the token may do this"
                         : "look at the name; for what is private set HF_TOKEN, or run `hf auth login`");
  return Error(ExitCode::kEnvironment, "the Hub did not do what it was asked for")
      .where(where)
      .why(reason)
      .hint(may_pass(answer) ? "try again later; the same command goes on where this one ended"
                             : "is HF_ENDPOINT the address of a Hub?");
}

Error Api::token_not_taken(const http::Answer& answer) const {
  return Error(ExitCode::kUsage, "the Hub does not take the access token")
      .where(masked("HF_ENDPOINT", access_.endpoint))
      .why(reason_of(answer))
      .hint("make another one, for pushes one that may write, and give it by HF_TOKEN or `hf auth login`");
}

Json Api::ask_json(const std::string& target, const Repository& repository, const std::string& revision,
                   const http::Request& request) {
  const http::Answer answer = ask(target, request);
  if (answer.status / 100 != 2) throw refusal(answer, repository, revision);
  std::optional<Json> body = try_parse_json(answer.body);
  if (body) return std::move(*body);
  throw Error(ExitCode::kEnvironment, "the answer is none of the Hub")
      .where(masked("HF_ENDPOINT", access_.endpoint))
      .why("it is no JSON")
      .hint("is HF_ENDPOINT the address of a Hub, and no page of a proxy in between?");
}

std::string commit_of(Api& api, const Repository& repository, const std::string& revision) {
  return read_commit(api.ask_json(repository.api() + "/revision/" + in_url(revision), repository, revision),
                     masked("HF_ENDPOINT", api.endpoint()) + repository.web());
}

std::vector<RemoteFile> files_of(Api& api, const Repository& repository, const std::string& commit) {
  std::vector<RemoteFile> files;
  std::set<std::string> asked;
  const std::string where = masked("HF_ENDPOINT", api.endpoint()) + repository.web();
  std::string target = repository.api() + "/tree/" + commit + "?recursive=true";
  while (!target.empty()) {
    if (!asked.insert(target).second || asked.size() > kMostPages)
      throw Error(ExitCode::kEnvironment, "the list of a repository's files has no end")
          .where(where)
          .why("page " + std::to_string(asked.size()) + " names one that was read, or one too many")
          .hint("is HF_ENDPOINT the address of a Hub?");
    const http::Answer answer = api.ask(target);
    const std::optional<Json> body = try_parse_json(answer.body);
    if (answer.status != 200 || !body) throw api.refusal(answer, repository, commit);
    read_tree_page(*body, where, files);
    target = next_page(header_of(answer, "link"));
  }
  return files;
}

}  // namespace hftrain::hub
