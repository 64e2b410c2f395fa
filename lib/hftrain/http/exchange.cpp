#include "hftrain/http/exchange.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::http {
namespace {

constexpr size_t kLargestRefusal = size_t{64} << 10;  // of a file: its message stands at the beginning

}  // namespace

Exchange::Exchange(const Request& request, size_t largest_answer)
    : request_(request), largest_answer_(largest_answer) {
  if (!request.upload) return;
  file_.reset(::open(request.upload->path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_) throw system_error(errno, "cannot open", request.upload->path, ExitCode::kData);
}

// A server may say "100 Continue" first, and a proxy that it is connected: the last head counts.
bool Exchange::header(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    answer_.headers.clear();
    answer_.body.clear();
    const size_t blank = line.find(' ');
    answer_.status = blank == std::string_view::npos
                         ? 0
                         : std::strtol(std::string(line.substr(blank)).c_str(), nullptr, 10);
    return true;
  }
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos)
    answer_.headers[to_lower(trim(line.substr(0, colon)))] = trim(line.substr(colon + 1));
  return true;
}

bool Exchange::body(std::string_view piece) {
  if (request_.take && answer_.status / 100 == 2) return request_.take(answer_, piece);
  const size_t most = request_.take ? std::min(largest_answer_, kLargestRefusal) : largest_answer_;
  answer_.body.append(piece.substr(0, most - answer_.body.size()));
  // A file's request has no time limit while anything comes.
  cut_short_ = request_.take && answer_.body.size() == most;
  return !cut_short_;
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
