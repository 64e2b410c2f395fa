// What a search says of its trials, in lines for people.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/clock.h"
#include "hftrain/reporting/console.h"
#include "hftrain/search/study.h"

namespace hftrain::front {

// "--learning_rate=0.001 --seed=3"
std::vector<std::string> words_of(const search::Trial& trial);

// Used by one thread. Times are those of monotonic_seconds().
class TrialLines {
 public:
  // `console` must outlive the object.
  explicit TrialLines(reporting::Console& console) : console_(console) {}

  void begins(const search::Trial& trial, bool again, double now);
  // One that has failed is told in a quiet style, too.
  void ends(const search::Study& study, const search::Trial& trial, bool well, double now);
  // In every style.
  void says(const std::string& text, double now);
  // Where nothing was said for ten seconds: what is waited for. After that where nothing was said for twice as long, and so on, since a
  // trial may take hours.
  void waits_for(const std::vector<const search::Trial*>& running, double now);

 private:
  static constexpr double kFirstWait = 10;
  void spoke(double now);

  reporting::Console& console_;
  double since_ = kNever;  // nothing but waits_for() was said
  double wait_ = kFirstWait;
};

}  // namespace hftrain::front
