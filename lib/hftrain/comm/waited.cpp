#include "hftrain/comm/waited.h"

#include "hftrain/base/clock.h"

namespace hftrain::comm {
namespace {

thread_local double waited = 0;

}  // namespace

double waited_seconds() {
  return waited;
}

CountsAsWaiting::CountsAsWaiting() : begin_(monotonic_seconds()) {}

CountsAsWaiting::~CountsAsWaiting() {
  waited += monotonic_seconds() - begin_;
}

}  // namespace hftrain::comm
