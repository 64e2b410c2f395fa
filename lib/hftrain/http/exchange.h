// One request and what comes back for it, piece by piece, as libcurl calls for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "hftrain/base/file.h"
#include "hftrain/http/client.h"

namespace hftrain::http {

class Exchange {
 public:
  // `request` must outlive the object. Error(kData) when the file to send cannot be opened.
  Exchange(const Request& request, size_t largest_answer);

  // A line of the head. False ends the request, as below.
  bool header(std::string_view line);
  bool body(std::string_view piece);
  // Bytes of the file put at `data`, at most `room`; nothing when it cannot be read, or is shorter than it was.
  std::optional<size_t> give(char* data, size_t room);
  // Called now and then. False ends the request: what is answered, and no file, has been coming for `seconds`.
  bool goes_on(double seconds);
  // The body of a refusal is longer than anybody reads, or waits for: the request was ended here, and its answer counts.
  bool cut_short() const { return cut_short_; }
  // So was that of another answer, of which all is needed: there is none.
  bool endless() const { return endless_; }

  Answer answer() { return std::move(answer_); }

 private:
  bool enough();  // ends the request

  const Request& request_;
  size_t largest_answer_;
  Answer answer_;
  bool cut_short_ = false, endless_ = false;
  double answered_at_ = 0;  // when the head of the answer was whole; 0: it is not
  FileDescriptor file_;
  uint64_t given_ = 0;
};

}  // namespace hftrain::http
