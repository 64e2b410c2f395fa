#include "hftrain/chat/printing.h"

#include <cstdio>

#include "hftrain/base/python_number.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/chat/text_cases.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

namespace unicode = tokenizer::unicode;

std::string hex_escape(char32_t c) {
  char buffer[16];
  const char* form = c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(buffer, sizeof buffer, form, static_cast<unsigned>(c));
  return buffer;
}

void put_quoted(char32_t c, char quote, std::string& out) {
  if (c == static_cast<char32_t>(quote) || c == '\\') {
    (out += '\\') += static_cast<char>(c);
  } else if (c == '\n' || c == '\r' || c == '\t') {
    out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
  } else if (is_printable_character(c)) {
    unicode::append(c, out);
  } else {
    out += hex_escape(c);
  }
}

// Writes values into one text, so that a list of lists is copied once.
class Printer {
 public:
  explicit Printer(Runtime& runtime) : runtime_(runtime) {}

  void put(const Value& value) {
    runtime_.step();
    if (out_.size() > checked_ + kCheckEvery) runtime_.expect_held(checked_ = out_.size());
    std::visit([this](const auto& held) { put_held(held); }, value.held());
  }
  std::string take() { return std::move(out_); }

 private:
  static constexpr size_t kCheckEvery = 1 << 16;

  void put_held(const Undefined&) { out_ += "Undefined"; }
  void put_held(const None&) { out_ += "None"; }
  void put_held(bool value) { out_ += value ? "True" : "False"; }
  void put_held(int64_t value) { out_ += std::to_string(value); }
  void put_held(double value) { out_ += python_repr(value); }
  void put_held(const TextPtr& text) {
    runtime_.expect(text->bytes.size());
    out_ += text->escaped ? "Markup(" + in_quotes(text->bytes) + ")" : in_quotes(text->bytes);
  }
  void put_held(const SequencePtr& sequence) {
    out_ += sequence->is_tuple ? '(' : '[';
    for (size_t i = 0; i < sequence->items.size(); ++i) {
      if (i != 0) out_ += ", ";
      put(sequence->items[i]);
    }
    if (sequence->is_tuple) out_ += sequence->items.size() == 1 ? ",)" : ")";
    if (!sequence->is_tuple) out_ += ']';
  }
  void put_held(const DictPtr& dict) {
    out_ += '{';
    for (size_t i = 0; i < dict->size(); ++i) {
      if (i != 0) out_ += ", ";
      put(dict->items()[i].first);
      out_ += ": ";
      put(dict->items()[i].second);
    }
    out_ += '}';
  }
  void put_held(const ViewPtr& view) {
    out_ += type_name(Value(view)) + "([";
    for (size_t i = 0; i < view->dict->size(); ++i) {
      if (i != 0) out_ += ", ";
      put(item_of_view(runtime_, *view, i));
    }
    out_ += "])";
  }
  void put_held(const Range& range) {
    out_ += "range(" + std::to_string(range.start) + ", " + std::to_string(range.stop);
    out_ += range.step == 1 ? ")" : ", " + std::to_string(range.step) + ")";
  }
  void put_held(const IteratorPtr&) {
    runtime_.outside("printing an iterator (put |list behind the filter)");
  }
  void put_held(const ObjectPtr& object) {
    const auto text = object->printed(runtime_);
    if (!text) runtime_.outside("printing a " + std::string(object->type_name()));
    out_ += *text;
  }

  Runtime& runtime_;
  std::string out_;
  size_t checked_ = 0;
};

}  // namespace

std::string in_quotes(std::string_view text) {
  const bool has_single = text.find('\'') != text.npos;
  const char quote = has_single && text.find('"') == text.npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size(); at += unicode::size_of(text[at])) {
    put_quoted(unicode::decode(text.data() + at), quote, out);
  }
  return out += quote;
}

std::string repr(Runtime& runtime, const Value& value) {
  Printer printer(runtime);
  printer.put(value);
  return printer.take();
}

std::string printed(Runtime& runtime, const Value& value) {
  if (value.is<Undefined>()) return "";
  if (const Text* text = value.as_text()) {
    runtime.expect(text->bytes.size());
    return text->bytes;
  }
  return repr(runtime, value);
}

}  // namespace hftrain::chat
