// Where the Hub is and who asks it, from the environment and the flags.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "hftrain/base/environment.h"

namespace hftrain::hub {

constexpr double kNoticedSeconds = 5;  // a pause that people would notice

struct Access {
  std::string endpoint = "https://huggingface.co";  // without a slash at its end
  std::string token = {};        // never in a message, a file or an argument list; empty: none
  std::string authorities = {};  // file of certificates to trust; empty: the system's
  double stall_seconds = 10;     // of a download in which nothing comes
  double call_seconds = 60;      // of a request that moves no file
  double quiet_seconds = 0;      // of such a one in which nothing comes; 0: it has call_seconds
  double sending_seconds = 60;   // of one that sends a file or a commit, in which nothing moves
  int attempts = 6;              // of a request that may find another answer later
  bool offline = false;          // HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE
  double longest_wait = 301;     // of those that the Hub asks for: it counts requests by five minutes
  // Told before each pause and why there is one, in words that show no token; may be empty.
  std::function<void(double seconds, const std::string& why)> waits = {};
};

// HF_ENDPOINT, HF_HUB_OFFLINE, HF_HUB_DOWNLOAD_TIMEOUT, and SSL_CERT_FILE, REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE. The token: `flag`,
// else HF_TOKEN, HUGGING_FACE_HUB_TOKEN, the file HF_TOKEN_PATH, $HF_HOME/token, …; with HF_HUB_DISABLE_IMPLICIT_TOKEN
// only `flag`, unless `stored`. Error(kUsage) for an endpoint that is no address, or a token that cannot be one.
Access read_access(const Environment& environment, const std::optional<std::string>& flag,
                   bool stored = false);

// The file that `hf auth login` writes: HF_TOKEN_PATH, $HF_HOME/token, $XDG_CACHE_HOME/huggingface/token,
// ~/.cache/huggingface/token.
std::string token_file(const Environment& environment);

// 1, ON, YES or TRUE, in any case.
bool is_on(const Environment& environment, const std::string& variable);

}  // namespace hftrain::hub
