#include "hftrain/trainer/stream_remarks.h"

namespace hftrain::trainer {

void StreamRemarks::look(double now) {
  if (ended_) return;
  const bool due = !told_.empty() && now >= next_;
  const size_t before = told_.size();
  tell_news("the training data so far: ", due);
  if (before == 0 && !told_.empty()) next_ = now + pause_;
  if (!due) return;
  pause_ *= 2;
  next_ = now + pause_;
}

void StreamRemarks::end() {
  if (!ended_) tell_news("the training data: ", true);
  ended_ = true;
}

void StreamRemarks::tell_news(const char* of_what, bool counts_too) {
  for (const data::Remark& remark : encoder_->remarks()) {
    const auto [known, first] = told_.try_emplace(remark.about, remark.sentence);
    if (!first && (!counts_too || known->second == remark.sentence)) continue;
    known->second = remark.sentence;
    tell_(of_what + remark.sentence);
  }
}

}  // namespace hftrain::trainer
