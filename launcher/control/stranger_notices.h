// What a user is told of connections that were refused: all that is needed to see a mistake, and not a line
// for every knock of a program that tries ports.
#pragma once

#include <string>
#include <vector>

namespace hftrain::launcher {

class StrangerNotices {
 public:
  static constexpr int kAtFirst = 5;           // are told one by one
  static constexpr double kPauseSeconds = 60;  // then one notice in that time

  // A stranger from this address was refused at `now`, in monotonic seconds; appends what is to be said of
  // it.
  void refused(const std::string& address, const std::string& why, double now,
               std::vector<std::string>& notices);

 private:
  int told_ = 0;
  int untold_ = 0;
  double next_ = 0;
};

}  // namespace hftrain::launcher
