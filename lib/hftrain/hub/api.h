// Requests to the Hub: with the token where it belongs, again after what may pass, and what was refused in words.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/http/client.h"
#include "hftrain/hub/access.h"
#include "hftrain/hub/repository.h"

namespace hftrain::hub {

// Used by one thread at a time.
class Api {
 public:
  // `stop`, which must outlive the object and may be null: true ends requests and pauses, which then have no answer.
  // Error(kEnvironment) when the Hub is not to be spoken to (HF_HUB_OFFLINE), or libcurl is missing.
  explicit Api(Access access, const std::atomic<bool>* stop = nullptr);

  const std::string& endpoint() const { return access_.endpoint; }

  // One request, its redirects followed. `target` is a path of the endpoint or a URL; the token goes to the endpoint alone.
  // No answer is an answer of status 0. Error(kEnvironment) for a URL that is not of the web, or
  // without TLS where the endpoint has it.
  http::Answer once(const std::string& target, http::Request request);
  // The same again, Access::attempts in all, as Retries says.
  http::Answer ask(const std::string& target, const http::Request& request = {});
  // ask(), a 2xx as JSON; anything else is refusal().
  Json ask_json(const std::string& target, const Repository& repository, const std::string& revision,
                const http::Request& request = {});
  // A POST of JSON.
  static http::Request post(const Json& body);

  // Why an answer is no good, with what to do about it: Error(kEnvironment) for servers and networks, Error(kData) for what is
  // not there or may not be seen. `revision` may be empty, and `file`, which is that of the repository that was asked for.
  Error refusal(const http::Answer& answer, const Repository& repository, const std::string& revision,
                const std::string& file = "") const;
  Error token_not_taken(const http::Answer& answer) const;
  // What the server says: X-Error-Message, "error" of the JSON, the status, or why there is no answer. One line, shortened, without
  // the token and a password of HF_ENDPOINT.
  std::string reason_of(const http::Answer& answer) const;
  // Of what a server says and people are shown: it may repeat the request. Not of what is read, where the token may be a word.
  std::string without_secrets(std::string text) const;
  // The last request ended because nothing came, or moved, as long as was waited for.
  bool met_silence() const { return silence_; }
  bool stopped() const { return stop_ != nullptr && *stop_; }
  const std::atomic<bool>* stop() const { return stop_; }
  // False when it was stopped meanwhile. `attempt` counts from 0.
  bool pause_before_retry(int attempt, const http::Answer& answer) const;

 private:
  std::string reason_of_pause(const http::Answer& answer) const;
  bool is_of_endpoint(const std::string& url) const;
  void check_address(const std::string& url) const;

  Access access_;
  const std::atomic<bool>* stop_;
  bool silence_ = false;
  http::Client client_;    // of calls
  http::Client transfer_;  // of files: as long as they are large
  http::Client sending_;   // of files and commits: their receiver may think a while
};

// After how many seconds the server wants to be asked again: Retry-After, or of a 429 the rest of the window in RateLimit
// ("api";r=0;t=55, draft-ietf-httpapi-ratelimit-headers), which is what the Hub sends, and a second more. 0: it does not say.
double asked_seconds(const http::Answer& answer);

// Whether the same request may find another answer later: there was none, or one of 408, 429 or 5xx.
bool may_pass(const http::Answer& answer);

// How often something is asked for: as long as its answer may pass, `most` times in all, but only twice of a server that says
// nothing, which costs all the seconds of a request each time.
class Retries {
 public:
  Retries(const Api& api, int most) : api_(api), most_(most) {}
  // Pauses before it says yes.
  bool again(const http::Answer& answer);
  // Where somebody else knows whether the answer may pass.
  bool again(const http::Answer& answer, bool passes);

 private:
  const Api& api_;
  int most_, attempts_ = 0, silences_ = 0;
};

// What the Hub has of a revision (a branch, a tag or a commit).
std::string commit_of(Api& api, const Repository& repository, const std::string& revision);
std::vector<RemoteFile> files_of(Api& api, const Repository& repository, const std::string& commit);

}  // namespace hftrain::hub
