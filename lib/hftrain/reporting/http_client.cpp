#include "hftrain/reporting/http_client.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <utility>

#define CURL_DISABLE_TYPECHECK  // its macros stand before the functions
#include <curl/curl.h>

#include "hftrain/base/error.h"

namespace hftrain::reporting {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";

size_t take_answer(const char* data, size_t size, size_t count, void* answer) {
  auto* text = static_cast<std::string*>(answer);
  const size_t room = HttpClient::kLargestAnswer - text->size();
  text->append(data, std::min(room, size * count));
  return size * count;
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
struct HttpClient::Curl {
  decltype(&::curl_easy_init) init;
  decltype(&::curl_easy_reset) reset;
  decltype(&::curl_easy_cleanup) cleanup;
  decltype(&::curl_easy_setopt) set;
  decltype(&::curl_easy_getinfo) get;
  decltype(&::curl_easy_perform) perform;
  decltype(&::curl_easy_strerror) strerror;
  decltype(&::curl_slist_append) append;
  decltype(&::curl_slist_free_all) free_all;
  CURL* handle = nullptr;

  Curl();
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;
  ~Curl() { cleanup(handle); }
};

HttpClient::Curl::Curl() {
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(ExitCode::kEnvironment, std::string("cannot load ") + kLibrary)
        .why(::dlerror())
        .hint("install the Debian package libcurl4");
  const auto find = [library]<typename Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr)
      throw Error(ExitCode::kEnvironment, std::string(kLibrary) + " has no function " + name);
  };
  find("curl_easy_init", init);
  find("curl_easy_reset", reset);
  find("curl_easy_cleanup", cleanup);
  find("curl_easy_setopt", set);
  find("curl_easy_getinfo", get);
  find("curl_easy_perform", perform);
  find("curl_easy_strerror", strerror);
  find("curl_slist_append", append);
  find("curl_slist_free_all", free_all);
  handle = init();
  if (handle == nullptr) throw Error(ExitCode::kEnvironment, std::string(kLibrary) + " does not start");
}

HttpClient::HttpClient(HttpOptions options) : curl_(std::make_unique<Curl>()), options_(std::move(options)) {}

HttpClient::~HttpClient() = default;

HttpAnswer HttpClient::send(const HttpRequest& request) {
  HttpAnswer answer;
  CURL* handle = curl_->handle;
  curl_->reset(handle);
  const auto set = [&](CURLoption option, auto value) { curl_->set(handle, option, value); };
  const long milliseconds = static_cast<long>(options_.seconds * 1000);
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TIMEOUT_MS, milliseconds);
  set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds / 3);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_WRITEFUNCTION, &take_answer);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&answer.body));
  if (!options_.user.empty() || !options_.password.empty()) {
    set(CURLOPT_USERNAME, options_.user.c_str());
    set(CURLOPT_PASSWORD, options_.password.c_str());
  }
  if (!options_.authorities.empty()) set(CURLOPT_CAINFO, options_.authorities.c_str());
  set(CURLOPT_SSL_VERIFYPEER, options_.verify ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, options_.verify ? 2L : 0L);
  if (!request.body.empty()) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.c_str());
  }
  curl_slist* headers = nullptr;
  for (const std::string& header : request.headers) headers = curl_->append(headers, header.c_str());
  set(CURLOPT_HTTPHEADER, headers);
  const CURLcode code = curl_->perform(handle);
  curl_->free_all(headers);
  if (code != CURLE_OK) {
    answer.failure = curl_->strerror(code);
    answer.permanent = stays(code);
    return answer;
  }
  curl_->get(handle, CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

std::string HttpClient::escaped(const std::string& text) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : std::string{'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

}  // namespace hftrain::reporting
