#include "hftrain/chat/json_input.h"

#include <limits>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/chat/dict.h"

namespace hftrain::chat {
namespace {

// Takes what the parser reads, value by value.
class ValueBuilder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return take(Value(None())); }
  bool boolean(bool value) override { return take(Value(value)); }
  bool number_integer(number_integer_t value) override { return take(Value(static_cast<int64_t>(value))); }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= static_cast<number_unsigned_t>(std::numeric_limits<int64_t>::max());
    return take(fits ? Value(static_cast<int64_t>(value)) : Value(static_cast<double>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override {
    return take(Value(static_cast<double>(value)));
  }
  bool string(string_t& value) override { return take(Value::text(value)); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override {
    open_.back().key = value;
    return true;
  }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override {
    const auto dict = std::make_shared<const Dict>(std::move(open_.back().dict));
    open_.pop_back();
    return take(Value(DictPtr(dict)));
  }
  bool end_array() override {
    Value list = Value::list(std::move(open_.back().items));
    open_.pop_back();
    return take(std::move(list));
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
    failed_at = byte;
    reason = error.what();
    return false;
  }

  Value result;
  size_t failed_at = 0;
  std::string reason =
      "arrays and objects stand in each other more than " + std::to_string(kDeepestJson) + " deep";

 private:
  struct Open {
    bool is_object = false;
    std::string key;
    Dict dict;
    std::vector<Value> items;
  };

  bool open(bool is_object) {
    open_.push_back({.is_object = is_object});
    return open_.size() <= kDeepestJson;
  }
  bool take(Value value) {
    if (open_.empty()) {
      result = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().dict.set(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  std::vector<Open> open_;
};

}  // namespace

Value value_from_json(std::string_view text, const std::string& origin, const std::string& hint) {
  ValueBuilder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    throw Error(ExitCode::kData, "not valid JSON")
        .where(origin + (builder.failed_at == 0 ? "" : ", byte " + std::to_string(builder.failed_at)))
        .why(builder.reason)
        .hint(hint);
  }
  return std::move(builder.result);
}

}  // namespace hftrain::chat
