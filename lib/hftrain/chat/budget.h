// What rendering one template may cost. Templates come with models that others made, so that time and memory are bounded by
// what the template does and not by what it means: a loop over a range in a loop over a range is small and does not end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hftrain::chat {

struct Limits {
  uint64_t steps = 20'000'000;  // nodes evaluated, items looked at, 64 bytes of text read: a few seconds
  uint64_t bytes = uint64_t{128} << 20;  // held at one time by texts, lists and names that the template makes
  size_t depth = 700;                    // of expressions, statements and macro calls in one another
};

// Deepest nesting of lists and dicts in each other, and of filters that feed each other.
constexpr size_t kDeepestValue = 200;
// The longest range(), as in Jinja's sandbox.
constexpr int64_t kLongestRange = 100'000;

// The bytes that are held. Outlives what was charged to it; used by one thread.
class Budget {
 public:
  explicit Budget(uint64_t bytes) : free_(bytes) {}
  void take(uint64_t bytes) { free_ -= bytes; }  // at most free()
  void give_back(uint64_t bytes) { free_ += bytes; }
  uint64_t free() const { return free_; }

 private:
  uint64_t free_;
};

// Bytes taken from a budget for as long as this lives. What comes from outside the template is charged to none.
class Charge {
 public:
  Charge() = default;
  // The bytes are taken already.
  Charge(Budget& budget, uint64_t bytes) : budget_(&budget), bytes_(bytes) {}
  Charge(Charge&& other) noexcept : budget_(other.budget_), bytes_(other.bytes_) { other.budget_ = nullptr; }
  Charge& operator=(Charge&& other) noexcept;
  ~Charge() { release(); }
  // Takes over the bytes of `more`, which are of the same budget.
  void add(Charge more);

 private:
  void release();

  Budget* budget_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace hftrain::chat
