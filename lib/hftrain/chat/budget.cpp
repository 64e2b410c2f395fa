#include "hftrain/chat/budget.h"

#include <utility>

namespace hftrain::chat {

void Charge::release() {
  if (budget_ != nullptr) budget_->give_back(bytes_);
  budget_ = nullptr;
}

Charge& Charge::operator=(Charge&& other) noexcept {
  if (this == &other) return *this;
  release();
  budget_ = std::exchange(other.budget_, nullptr);
  bytes_ = other.bytes_;
  return *this;
}

void Charge::add(Charge more) {
  if (budget_ == nullptr) {
    *this = std::move(more);
  } else {
    bytes_ += more.bytes_;
    more.budget_ = nullptr;
  }
}

}  // namespace hftrain::chat
