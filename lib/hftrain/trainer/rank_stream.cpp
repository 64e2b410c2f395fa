#include "hftrain/trainer/rank_stream.h"

#include <algorithm>

namespace hftrain::trainer {

std::optional<int64_t> RankStream::wait_for(int64_t count) {
  const bool there = wait_->until([&] { return stream_.settles(count, DataWait::kBetweenLooks); },
                                  [&] { return stream_.rows_read(); });
  if (!there) return std::nullopt;
  return stream_.wait_for(count);
}

bool RankStream::pass_to(int64_t number, int64_t at_once) {
  while (position() < number) {
    const std::optional<int64_t> here = wait_for(std::min(number - position(), at_once));
    if (!here) return false;
    if (*here == 0) break;
    take(*here);
  }
  return true;
}

}  // namespace hftrain::trainer
