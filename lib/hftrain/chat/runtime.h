// What every operation of a template needs: the place that is being evaluated, for messages, and the limits.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/chat/dict.h"
#include "hftrain/chat/value.h"

namespace hftrain::chat {

// In characters, from 1.
struct Place {
  uint32_t line = 1, column = 1;
};

// "FILE:LINE:COLUMN".
std::string where_of(const std::string& origin, Place place);
// A template that is no Jinja, or needs what is not there.
Error template_error(const std::string& origin, Place place, const std::string& why);

class Runtime {
 public:
  // `origin` names the template in messages; `now` is the local time that strftime_now tells.
  Runtime(const Limits& limits, std::string origin, const std::tm& now);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  // Counts work. Errors: too much of it.
  void step(uint64_t count = 1);
  void read(size_t bytes) { step(bytes / 64); }  // of text that is searched or copied
  // Takes `bytes` for what is about to be made. Errors: more than the template may hold.
  Charge charge(uint64_t bytes);
  void expect(uint64_t count, uint64_t bytes_each = 1);  // the same, given back at once
  void expect_held(uint64_t bytes) const;                // without the time to copy them

  Value text(std::string bytes, bool escaped = false);  // valid UTF-8
  Value list(std::vector<Value> items);
  Value tuple(std::vector<Value> items, bool is_group = false);
  Value dict(Dict dict);
  Value iterator(std::function<std::optional<Value>()> next, size_t depth);
  // Objects whose members may hold each other in a ring: `clear` is called when rendering is over, and they live as long.
  void outlives(std::shared_ptr<void> object, std::function<void()> clear);

  // What Python would raise, at the place that is being evaluated.
  [[noreturn]] void fail(const std::string& why) const;
  // A part of Jinja or Python that is not there.
  [[noreturn]] void outside(const std::string& what) const;
  [[noreturn]] void too_much(const std::string& why) const;

  Place place;
  const std::tm now;
  const Limits limits;
  const std::string origin;

 private:
  Value sequence(std::vector<Value> items, bool is_tuple, bool is_group);
  void check_depth(size_t depth) const;

  Budget budget_;
  uint64_t steps_left_;
  struct Kept {
    std::shared_ptr<void> object;
    std::function<void()> clear;
    Charge charge;
  };
  std::vector<Kept> kept_;
};

}  // namespace hftrain::chat
