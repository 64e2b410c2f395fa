#include "hftrain/chat/json_output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hftrain/base/python_number.h"
#include "hftrain/chat/comparison.h"
#include "hftrain/chat/dict.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

void put_unicode_escape(char32_t c, std::string& out) {
  char buffer[16];
  if (c >= 0x10000) {
    put_unicode_escape(0xD800 + ((c - 0x10000) >> 10), out);
    c = 0xDC00 + ((c - 0x10000) & 0x3FF);
  }
  std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
  out += buffer;
}

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonLayout& layout) : runtime_(runtime), layout_(layout) {}

  void put(const Value& value) {
    runtime_.step();
    runtime_.expect_held(out_.size());
    if (const Text* text = value.as_text()) return put_text(text->bytes);
    if (const Sequence* sequence = value.as_sequence()) return put_sequence(*sequence);
    if (const Dict* dict = value.as_dict()) return put_dict(*dict);
    const auto scalar = scalar_of(value);
    if (!scalar) runtime_.fail("Object of type " + type_name(value) + " is not JSON serializable");
    out_ += *scalar;
  }
  std::string take() { return std::move(out_); }

 private:
  static std::optional<std::string> scalar_of(const Value& value) {
    if (value.is<None>()) return "null";
    if (const auto* boolean = value.get<bool>()) return *boolean ? "true" : "false";
    if (const auto* integer = value.get<int64_t>()) return std::to_string(*integer);
    const auto* number = value.get<double>();
    if (number == nullptr) return std::nullopt;
    if (std::isnan(*number)) return "NaN";
    if (std::isinf(*number)) return *number > 0 ? "Infinity" : "-Infinity";
    return python_repr(*number);
  }

  void put_text(std::string_view text) {
    runtime_.read(text.size());
    runtime_.expect_held(out_.size() + text.size());
    out_ += '"';
    for (size_t at = 0; at < text.size();) {
      const size_t size = tokenizer::unicode::size_of(text[at]);
      put_character(tokenizer::unicode::decode(text.data() + at), text.substr(at, size));
      at += size;
    }
    out_ += '"';
  }

  void put_character(char32_t c, std::string_view bytes) {
    constexpr std::string_view kNamed = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
    const size_t named = c < 0x80 ? kNamed.find(static_cast<char>(c)) : kNamed.npos;
    if (named != kNamed.npos) {
      (out_ += '\\') += kLetters[named];
    } else if (c < 0x20 || (layout_.ensure_ascii && c > 0x7E && c != 0x7F)) {
      put_unicode_escape(c, out_);
    } else {
      out_ += bytes;
    }
  }

  void new_line() {
    if (!layout_.indent) return;
    out_ += '\n';
    runtime_.expect_held(out_.size() + layout_.indent->size() * static_cast<size_t>(level_));
    for (int i = 0; i < level_; ++i) out_ += *layout_.indent;
    runtime_.read(layout_.indent->size() * static_cast<size_t>(level_));
  }

  void put_sequence(const Sequence& sequence) {
    if (sequence.items.empty()) return void(out_ += "[]");
    out_ += '[';
    ++level_;
    for (size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) put_separator(layout_.between_items);
      new_line();
      put(sequence.items[i]);
    }
    --level_;
    new_line();
    out_ += ']';
  }

  void put_dict(const Dict& dict) {
    if (dict.size() == 0) return void(out_ += "{}");
    std::vector<const Dict::Item*> items;
    for (const Dict::Item& item : dict.items()) items.push_back(&item);
    if (layout_.sort_keys) sort(items);
    out_ += '{';
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) put_separator(layout_.between_items);
      new_line();
      put_key(items[i]->first);
      put_separator(layout_.after_key);
      put(items[i]->second);
    }
    --level_;
    new_line();
    out_ += '}';
  }

  void sort(std::vector<const Dict::Item*>& items) {
    std::stable_sort(items.begin(), items.end(), [&](const Dict::Item* a, const Dict::Item* b) {
      return less(runtime_, a->first, b->first);
    });
  }

  void put_separator(const std::string& separator) {
    runtime_.read(separator.size());
    runtime_.expect_held(out_.size() + separator.size());
    out_ += separator;
  }

  void put_key(const Value& key) {
    if (const Text* text = key.as_text()) return put_text(text->bytes);
    const auto scalar = scalar_of(key);
    if (!scalar) runtime_.fail("keys must be str, int, float, bool or None, not " + type_name(key));
    put_text(*scalar);
  }

  Runtime& runtime_;
  const JsonLayout& layout_;
  std::string out_;
  int level_ = 0;
};

}  // namespace

JsonLayout json_layout(Runtime& runtime, const BoundArguments& arguments) {
  JsonLayout layout{.ensure_ascii = arguments.truth(0, false), .sort_keys = arguments.truth(3, false)};
  if (const Value* indent = arguments.given(1)) {
    const int64_t width = indent->as_text() != nullptr ? 0 : std::max<int64_t>(arguments.integer(1, 0), 0);
    runtime.expect(static_cast<uint64_t>(width));
    layout.indent = indent->as_text() != nullptr ? indent->as_text()->bytes
                                                 : std::string(static_cast<size_t>(width), ' ');
    layout.between_items = ",";
  }
  if (const Value* separators = arguments.given(2)) {
    const Sequence* pair = separators->as_sequence();
    if (pair == nullptr || pair->items.size() != 2 || pair->items[0].as_text() == nullptr ||
        pair->items[1].as_text() == nullptr) {
      runtime.fail("tojson() takes two texts as its separators");
    }
    layout.between_items = pair->items[0].as_text()->bytes;
    layout.after_key = pair->items[1].as_text()->bytes;
  }
  return layout;
}

std::string to_json(Runtime& runtime, const Value& value, const JsonLayout& layout) {
  JsonWriter writer(runtime, layout);
  writer.put(value);
  return writer.take();
}

}  // namespace hftrain::chat
