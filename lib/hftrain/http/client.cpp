#include "hftrain/http/client.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <optional>
#include <utility>

#define CURL_DISABLE_TYPECHECK    // its macros stand before the functions
#define CURL_DISABLE_DEPRECATION  // of what older libraries know alone
#include <curl/curl.h>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/http/exchange.h"

namespace hftrain::http {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";

size_t take_header(const char* data, size_t size, size_t count, void* exchange) {
  return static_cast<Exchange*>(exchange)->header({data, size * count}) ? size * count : 0;
}

size_t take_body(const char* data, size_t size, size_t count, void* exchange) {
  return static_cast<Exchange*>(exchange)->body({data, size * count}) ? size * count : 0;
}

size_t give_body(char* data, size_t size, size_t count, void* exchange) {
  const std::optional<size_t> given = static_cast<Exchange*>(exchange)->give(data, size * count);
  return given ? *given : CURL_READFUNC_ABORT;
}

struct Watched {
  Exchange& exchange;
  const Options& options;

  bool stopped() const { return options.stop != nullptr && *options.stop; }
};

// About once a second, whether anything moves or not.
int watch(void* watched, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const Watched& seen = *static_cast<Watched*>(watched);
  return seen.stopped() || !seen.exchange.goes_on(seen.options.seconds) ? 1 : 0;
}

Error unusable(const std::string& why) {
  return Error(ExitCode::kEnvironment, std::string("cannot load ") + kLibrary)
      .where("requests to a server")
      .why(why)
      .hint("install the Debian package libcurl4");
}

bool stays(CURLcode code) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return true;
    default:
      return false;
  }
}

}  // namespace

#undef curl_easy_setopt
#undef curl_easy_getinfo

// The functions of the library, which is never closed, and one handle.
struct Client::Curl {
  decltype(&::curl_easy_init) init;
  decltype(&::curl_easy_reset) reset;
  decltype(&::curl_easy_cleanup) cleanup;
  decltype(&::curl_easy_setopt) set;
  decltype(&::curl_easy_perform) perform;
  decltype(&::curl_easy_strerror) strerror;
  decltype(&::curl_slist_append) append;
  decltype(&::curl_slist_free_all) free_all;
  CURL* handle = nullptr;

  Curl();
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;
  ~Curl() { cleanup(handle); }
  void set_options(const Options& options);
  void set_quiet(double seconds);
  void set_request(const Request& request, Exchange& exchange);
  void set_watch(Watched& watched);
};

Client::Curl::Curl() {
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw unusable(::dlerror());
  const auto find = [library]<typename Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr) throw unusable(std::string("it has no function ") + name);
  };
  find("curl_easy_init", init);
  find("curl_easy_reset", reset);
  find("curl_easy_cleanup", cleanup);
  find("curl_easy_setopt", set);
  find("curl_easy_perform", perform);
  find("curl_easy_strerror", strerror);
  find("curl_slist_append", append);
  find("curl_slist_free_all", free_all);
  handle = init();
  if (handle == nullptr) throw unusable("it does not start");
}

void Client::Curl::set_quiet(double seconds) {
  if (seconds <= 0) return;
  set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(handle, CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(seconds)));
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(seconds * 1000));
}

void Client::Curl::set_options(const Options& options) {
  const long milliseconds = static_cast<long>(options.seconds * 1000);
  set(handle, CURLOPT_NOSIGNAL, 1L);
  if (options.only_stalls) {
    set_quiet(options.seconds);
  } else {
    set(handle, CURLOPT_TIMEOUT_MS, milliseconds);
    set(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds / 3);
    set_quiet(options.quiet_seconds);
  }
  if (set(handle, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK)  // before 7.85 it has numbers alone
    set(handle, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  if (!options.user.empty() || !options.password.empty()) {
    set(handle, CURLOPT_USERNAME, options.user.c_str());
    set(handle, CURLOPT_PASSWORD, options.password.c_str());
  }
  set(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // of a proxy, long before the server answers
  if (!options.authorities.empty()) set(handle, CURLOPT_CAINFO, options.authorities.c_str());
  set(handle, CURLOPT_SSL_VERIFYPEER, options.verify ? 1L : 0L);
  set(handle, CURLOPT_SSL_VERIFYHOST, options.verify ? 2L : 0L);
}

void Client::Curl::set_watch(Watched& watched) {
  set(handle, CURLOPT_NOPROGRESS, 0L);
  set(handle, CURLOPT_XFERINFOFUNCTION, &watch);
  set(handle, CURLOPT_XFERINFODATA, static_cast<void*>(&watched));
}

void Client::Curl::set_request(const Request& request, Exchange& exchange) {
  set(handle, CURLOPT_URL, request.url.c_str());
  set(handle, CURLOPT_HEADERFUNCTION, &take_header);
  set(handle, CURLOPT_HEADERDATA, static_cast<void*>(&exchange));
  set(handle, CURLOPT_WRITEFUNCTION, &take_body);
  set(handle, CURLOPT_WRITEDATA, static_cast<void*>(&exchange));
  set(handle, CURLOPT_FRESH_CONNECT, request.once ? 1L : 0L);
  if (request.upload) {
    set(handle, CURLOPT_UPLOAD, 1L);
    set(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.upload->size));
    set(handle, CURLOPT_READFUNCTION, &give_body);
    set(handle, CURLOPT_READDATA, static_cast<void*>(&exchange));
  } else if (!request.body.empty()) {
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(handle, CURLOPT_POSTFIELDS, request.body.c_str());
  }
}

Client::Client(Options options) : curl_(std::make_unique<Curl>()), options_(std::move(options)) {}

Client::~Client() = default;

Answer Client::send(const Request& request) {
  Exchange exchange(request, kLargestAnswer);
  curl_->reset(curl_->handle);
  curl_->set_options(options_);
  curl_->set_request(request, exchange);
  Watched watched{exchange, options_};
  curl_->set_watch(watched);
  curl_slist* headers = nullptr;
  for (const std::string& header : request.headers) headers = curl_->append(headers, header.c_str());
  if (request.upload) headers = curl_->append(headers, "Expect:");  // a round trip that few servers answer
  curl_->set(curl_->handle, CURLOPT_HTTPHEADER, headers);
  const CURLcode code = curl_->perform(curl_->handle);
  curl_->free_all(headers);
  Answer answer = exchange.answer();
  if (code != CURLE_OK && !exchange.cut_short()) {
    answer.status = 0;
    const bool stopped = code == CURLE_ABORTED_BY_CALLBACK && watched.stopped();
    answer.failure = stopped              ? "it was stopped"
                     : exchange.endless() ? "its answer has no end"
                                          : curl_->strerror(code);
    answer.permanent = stays(code);
    answer.silent = code == CURLE_OPERATION_TIMEDOUT || exchange.endless();
  }
  return answer;
}

std::string Client::escaped(const std::string& text) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : std::string{'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

}  // namespace hftrain::http
