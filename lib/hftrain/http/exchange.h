// One request and what comes back for it, piece by piece, as libcurl calls for it.
#pragma once

#include <string_view>
#include <utility>

#include "hftrain/http/client.h"

namespace hftrain::http {

class Exchange {
 public:
  // `request` must outlive the object.
  Exchange(const Request& request, size_t largest_answer)
      : request_(request), largest_answer_(largest_answer) {}

  // A line of the head. False ends the request, as below.
  bool header(std::string_view line);
  bool body(std::string_view piece);
  // The body of a refusal is longer than anybody reads: the request was ended here, and its answer counts.
  bool cut_short() const { return cut_short_; }

  Answer answer() { return std::move(answer_); }

 private:
  const Request& request_;
  size_t largest_answer_;
  Answer answer_;
  bool cut_short_ = false;
};

}  // namespace hftrain::http
