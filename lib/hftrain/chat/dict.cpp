#include "hftrain/chat/dict.h"

#include <algorithm>

#include "hftrain/chat/comparison.h"
#include "hftrain/chat/runtime.h"

namespace hftrain::chat {

void Dict::append(uint64_t hash, Value key, Value value) {
  depth_ = std::max({depth_, depth_of(key) + 1, depth_of(value) + 1});
  places_.emplace(hash, items_.size());
  items_.emplace_back(std::move(key), std::move(value));
}

void Dict::set(Runtime& runtime, Value key, Value value) {
  const uint64_t hash = hash_of(runtime, key);
  const auto [begin, end] = places_.equal_range(hash);
  for (auto place = begin; place != end; ++place) {
    if (!equal(runtime, items_[place->second].first, key)) continue;
    depth_ = std::max(depth_, depth_of(value) + 1);
    items_[place->second].second = std::move(value);
    return;
  }
  append(hash, std::move(key), std::move(value));
}

void Dict::set(std::string key, Value value) {
  const uint64_t hash = hash_of_text(key);
  const auto [begin, end] = places_.equal_range(hash);
  for (auto place = begin; place != end; ++place) {
    if (items_[place->second].first.as_text()->bytes != key) continue;
    depth_ = std::max(depth_, depth_of(value) + 1);
    items_[place->second].second = std::move(value);
    return;
  }
  append(hash, Value::text(std::move(key)), std::move(value));
}

Dict Dict::copy() const {
  Dict made;
  made.items_ = items_;
  made.places_ = places_;
  made.depth_ = depth_;
  return made;
}

const Value* Dict::find(Runtime& runtime, const Value& key) const {
  const auto [begin, end] = places_.equal_range(hash_of(runtime, key));
  for (auto place = begin; place != end; ++place) {
    if (equal(runtime, items_[place->second].first, key)) return &items_[place->second].second;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  const auto [begin, end] = places_.equal_range(hash_of_text(key));
  for (auto place = begin; place != end; ++place) {
    const Text* text = items_[place->second].first.as_text();
    if (text != nullptr && text->bytes == key) return &items_[place->second].second;
  }
  return nullptr;
}

}  // namespace hftrain::chat
