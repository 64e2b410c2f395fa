#include "hftrain/http/exchange.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::http {
namespace {

constexpr size_t kLargestRefusal = size_t{64} << 10;  // its message stands at the beginning
constexpr double kSecondsOfARefusal = 5;

}  // namespace

Exchange::Exchange(const Request& request, size_t largest_answer)
    : request_(request), largest_answer_(largest_answer) {
  if (!request.upload) return;
  file_.reset(::open(request.upload->path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_) throw system_error(errno, "cannot open", request.upload->path, ExitCode::kData);
}

// A server may say "100 Continue" first: the last head counts.
bool Exchange::header(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    answer_.headers.clear();
    answer_.body.clear();
    answered_at_ = 0;
    const size_t blank = line.find(' ');
    answer_.status = blank == std::string_view::npos
                         ? 0
                         : std::strtol(std::string(line.substr(blank)).c_str(), nullptr, 10);
    return true;
  }
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos)
    answer_.headers[to_lower(trim(line.substr(0, colon)))] = trim(line.substr(colon + 1));
  if (trim(line).empty()) answered_at_ = monotonic_seconds();
  return true;
}

bool Exchange::body(std::string_view piece) {
  const bool good = answer_.status / 100 == 2;
  if (request_.take && good) return request_.take(answer_, piece);
  const size_t room = (good ? largest_answer_ : kLargestRefusal) - answer_.body.size();
  answer_.body.append(piece.substr(0, room));
  return piece.size() <= room || enough();
}

// Requests of files have no time limit while anything moves, which a drop a second is enough for.
bool Exchange::goes_on(double seconds) {
  const bool good = answer_.status / 100 == 2;
  if (answered_at_ == 0 || answer_.status < 200 || (request_.take && good)) return true;
  const double most = good ? seconds : std::min(seconds, kSecondsOfARefusal);
  return monotonic_seconds() - answered_at_ < most || enough();
}

bool Exchange::enough() {
  (answer_.status / 100 == 2 ? endless_ : cut_short_) = true;
  return false;
}

std::optional<size_t> Exchange::give(char* data, size_t room) {
  const FilePart& part = *request_.upload;
  const size_t wanted = std::min<uint64_t>(room, part.size - given_);
  if (wanted == 0) return 0;
  const ssize_t got = ::pread(file_.get(), data, wanted, static_cast<off_t>(part.offset + given_));
  if (got <= 0) return std::nullopt;
  given_ += static_cast<uint64_t>(got);
  return static_cast<size_t>(got);
}

}  // namespace hftrain::http
