// What users should know of the rows of a stream, told while they are read.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "hftrain/data/encoder.h"

namespace hftrain::trainer {

// A remark is told when there is something to say for the first time, with its newer count every now and then, and for the
// last time when all rows have been read once.
class StreamRemarks {
 public:
  static constexpr double kFirstSeconds =
      60;  // between two tellings; each pause is twice as long as the one before

  StreamRemarks(std::shared_ptr<const data::Encoder> encoder, std::function<void(const std::string&)> tell)
      : encoder_(std::move(encoder)), tell_(std::move(tell)) {}

  // At `now`, monotonic seconds.
  void look(double now);
  // All rows have been read.
  void end();

 private:
  void tell_news(const char* of_what, bool counts_too);

  std::shared_ptr<const data::Encoder> encoder_;
  std::function<void(const std::string&)> tell_;
  std::map<std::string, std::string> told_;  // the newest sentence, by Remark::about
  double next_ = 0, pause_ = kFirstSeconds;
  bool ended_ = false;
};

}  // namespace hftrain::trainer
