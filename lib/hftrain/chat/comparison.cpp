#include "hftrain/chat/comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "hftrain/chat/iteration.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/chat/text_search.h"

namespace hftrain::chat {
namespace {

bool equal_numbers(const Value& a, const Value& b) {
  const auto left = a.as_integer(), right = b.as_integer();
  if (left && right) return *left == *right;
  return *a.as_number() == *b.as_number();
}

bool equal_sequences(Runtime& runtime, const Sequence& a, const Sequence& b) {
  if (a.is_tuple != b.is_tuple || a.items.size() != b.items.size()) return false;
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(),
                    [&](const Value& left, const Value& right) { return equal(runtime, left, right); });
}

bool equal_dicts(Runtime& runtime, const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.items().begin(), a.items().end(), [&](const Dict::Item& item) {
    const Value* other = b.find(runtime, item.first);
    return other != nullptr && equal(runtime, item.second, *other);
  });
}

bool equal_ranges(const Range& a, const Range& b) {
  if (a.size() != b.size()) return false;
  return a.size() == 0 || (a.start == b.start && (a.size() == 1 || a.step == b.step));
}

bool less_sequences(Runtime& runtime, const Sequence& a, const Sequence& b, std::string_view sign) {
  for (size_t i = 0; i < std::min(a.items.size(), b.items.size()); ++i) {
    if (!equal(runtime, a.items[i], b.items[i])) return less(runtime, a.items[i], b.items[i], sign);
  }
  return a.items.size() < b.items.size();
}

void refuse_undefined(Runtime& runtime, const Value& value) {
  if (const auto* undefined = value.get<Undefined>()) runtime.fail(reason_of(*undefined));
}

}  // namespace

bool equal(Runtime& runtime, const Value& a, const Value& b) {
  runtime.step();
  if (a.as_number() && b.as_number()) return equal_numbers(a, b);
  if (a.held().index() != b.held().index()) return false;
  if (a.is<Undefined>() || a.is<None>()) return true;
  if (const Text* text = a.as_text()) {
    runtime.read(std::min(text->bytes.size(), b.as_text()->bytes.size()));
    return text->bytes == b.as_text()->bytes;
  }
  if (const Sequence* sequence = a.as_sequence())
    return equal_sequences(runtime, *sequence, *b.as_sequence());
  if (const Dict* dict = a.as_dict()) return equal_dicts(runtime, *dict, *b.as_dict());
  if (const auto* range = a.get<Range>()) return equal_ranges(*range, *b.get<Range>());
  if (const auto* iterator = a.get<IteratorPtr>()) return *iterator == *b.get<IteratorPtr>();
  if (const auto* object = a.get<ObjectPtr>()) return *object == *b.get<ObjectPtr>();
  runtime.outside("comparing views of dicts");
}

bool less(Runtime& runtime, const Value& a, const Value& b, std::string_view sign) {
  runtime.step();
  refuse_undefined(runtime, a), refuse_undefined(runtime, b);
  const auto left = a.as_integer(), right = b.as_integer();
  if (left && right) return *left < *right;
  if (a.as_number() && b.as_number()) return *a.as_number() < *b.as_number();
  if (a.as_text() != nullptr && b.as_text() != nullptr) {
    runtime.read(std::min(a.as_text()->bytes.size(), b.as_text()->bytes.size()));
    return a.as_text()->bytes < b.as_text()->bytes;  // UTF-8 keeps the order of code points
  }
  const Sequence *first = a.as_sequence(), *second = b.as_sequence();
  if (first != nullptr && second != nullptr && first->is_tuple == second->is_tuple) {
    return less_sequences(runtime, *first, *second, sign);
  }
  runtime.fail("'" + std::string(sign) + "' not supported between instances of '" + type_name(a) + "' and '" +
               type_name(b) + "'");
}

// Not the opposite of b < a, for NaN's sake.
bool less_or_equal(Runtime& runtime, const Value& a, const Value& b, std::string_view sign) {
  return less(runtime, a, b, sign) || equal(runtime, a, b);
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
  if (const Text* text = container.as_text()) {
    const Text* part = item.as_text();
    if (part == nullptr) {
      runtime.fail("'in <string>' requires string as left operand, not " + type_name(item));
    }
    runtime.read(text->bytes.size());
    return find_bytes(text->bytes, part->bytes, 0) != std::string_view::npos;
  }
  if (const Dict* dict = container.as_dict()) return dict->find(runtime, item) != nullptr;
  const IteratorPtr items = iterate(runtime, container);
  while (const auto candidate = items->next()) {
    if (equal(runtime, *candidate, item)) return true;
  }
  return false;
}

bool is_hashable(const Value& value) {
  if (value.as_dict() != nullptr) return false;
  const Sequence* sequence = value.as_sequence();
  if (sequence == nullptr) return true;
  return sequence->is_tuple && std::all_of(sequence->items.begin(), sequence->items.end(), is_hashable);
}

uint64_t hash_of_text(std::string_view text) {
  return std::hash<std::string_view>()(text);
}

uint64_t hash_of(Runtime& runtime, const Value& value) {
  runtime.step();
  if (const Text* text = value.as_text()) {
    runtime.read(text->bytes.size());
    return hash_of_text(text->bytes);
  }
  if (const auto number = value.as_number())
    return std::hash<double>()(*number);  // 1, 1.0 and true are one key
  if (const Sequence* sequence = value.as_sequence(); sequence != nullptr && sequence->is_tuple) {
    uint64_t hash = 0x9E3779B97F4A7C15;
    for (const Value& item : sequence->items) hash = hash * 1'000'003 + hash_of(runtime, item);
    return hash;
  }
  if (value.as_sequence() != nullptr || value.as_dict() != nullptr) {
    runtime.fail("unhashable type: '" + type_name(value) + "'");
  }
  return value.held().index();
}

}  // namespace hftrain::chat
