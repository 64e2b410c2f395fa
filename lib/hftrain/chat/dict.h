// A Python dict: values by key, in the order in which keys came.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

class Dict {
 public:
  using Item = std::pair<Value, Value>;

  // The value of a key that is there is replaced, and keeps its place. The key must be hashable.
  void set(Runtime& runtime, Value key, Value value);
  // Of input that no template made: keys are texts.
  void set(std::string key, Value value);
  const Value* find(Runtime& runtime, const Value& key) const;
  const Value* find(std::string_view key) const;

  const std::vector<Item>& items() const { return items_; }
  size_t size() const { return items_.size(); }
  size_t depth() const { return depth_; }
  Dict copy() const;  // not yet charged
  void keep(Charge charge) { charge_ = std::move(charge); }

 private:
  void append(uint64_t hash, Value key, Value value);

  std::vector<Item> items_;
  std::unordered_multimap<uint64_t, size_t> places_;
  size_t depth_ = 1;
  Charge charge_;
};

}  // namespace hftrain::chat
