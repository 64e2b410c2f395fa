#include "hftrain/http/exchange.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "hftrain/base/text.h"

namespace hftrain::http {
namespace {

constexpr size_t kLargestRefusal = size_t{64} << 10;  // of a file: its message stands at the beginning

}  // namespace

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

}  // namespace hftrain::http
