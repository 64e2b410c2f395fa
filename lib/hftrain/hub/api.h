// Requests to the Hub: with the token where it belongs, again after what may pass, and what was refused in words.
#pragma once

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
  // Error(kEnvironment) when the Hub is not to be spoken to (HF_HUB_OFFLINE), or libcurl is missing.
  explicit Api(Access access);

  const std::string& endpoint() const { return access_.endpoint; }

  // One request, its redirects followed. `target` is a path of the endpoint or a URL; the token goes to the endpoint alone. No
  // answer is an answer of status 0.
  http::Answer once(const std::string& target, http::Request request);
  // The same again, five times at most, where there was no answer or one of 408, 429 or 5xx.
  http::Answer ask(const std::string& target);
  // ask(), a 2xx as JSON; anything else is refusal().
  Json ask_json(const std::string& target, const Repository& repository, const std::string& revision);

  // Why an answer is no good, with what to do about it: Error(kEnvironment) for servers and networks, Error(kData) for what is
  // not there or may not be seen. `revision` may be empty.
  Error refusal(const http::Answer& answer, const Repository& repository, const std::string& revision) const;
  // `attempt` counts from 0.
  static void pause_before_retry(int attempt, const http::Answer& answer);

 private:
  bool is_of_endpoint(const std::string& url) const;

  Access access_;
  http::Client client_;    // of calls
  http::Client transfer_;  // of files: as long as they are large
};

// Whether the same request may find another answer later.
bool may_pass(const http::Answer& answer);
// What the server says: X-Error-Message, "error" of the JSON, the status, or why there is no answer. One line, shortened.
std::string reason_of(const http::Answer& answer);

// What the Hub has of a revision (a branch, a tag or a commit).
std::string commit_of(Api& api, const Repository& repository, const std::string& revision);
std::vector<RemoteFile> files_of(Api& api, const Repository& repository, const std::string& commit);

}  // namespace hftrain::hub
