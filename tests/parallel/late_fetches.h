// A device that comes to what it fetches when somebody uses it.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "hftrain/parallel/host_copies.h"

namespace hftrain::testing {

class LateFetches : public parallel::HostCopies {
 public:
  Mark fetch(std::function<void()> work) override {
    fetches_.emplace(++last_fetch_, std::move(work));
    return last_fetch_;
  }
  void use(Mark fetch) override {
    if (auto found = fetches_.extract(fetch)) found.mapped()();
  }
  void wait_for_fetches() override {
    while (!fetches_.empty()) use(fetches_.begin()->first);
  }

 private:
  std::map<Mark, std::function<void()>> fetches_;
  Mark last_fetch_ = 0;
};

}  // namespace hftrain::testing
