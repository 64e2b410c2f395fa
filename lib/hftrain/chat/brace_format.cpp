#include <algorithm>

#include "hftrain/chat/format.h"
#include "hftrain/chat/item_access.h"
#include "hftrain/chat/numbers.h"
#include "hftrain/chat/printing.h"
#include "hftrain/chat/runtime.h"

namespace hftrain::chat {
namespace {

class BraceFormat {
 public:
  BraceFormat(Runtime& runtime, const Arguments& arguments) : runtime_(runtime), arguments_(arguments) {}

  std::string run(std::string_view format, int depth = 0) {
    if (depth > 1) runtime_.fail("Max string recursion exceeded");
    std::string out;
    while (!format.empty()) {
      const size_t brace = std::min(format.find_first_of("{}"), format.size());
      out += format.substr(0, brace);
      format.remove_prefix(brace);
      if (format.empty()) break;
      if (format.size() > 1 && format[1] == format[0]) {
        out += format[0];
        format.remove_prefix(2);
        continue;
      }
      if (format[0] == '}') runtime_.fail("Single '}' encountered in format string");
      out += field(format, depth);
      runtime_.step();
      runtime_.expect_held(out.size());
    }
    return out;
  }

 private:
  // Takes one {…} off the beginning.
  std::string field(std::string_view& format, int depth) {
    size_t end = 1;
    for (int open = 1; open > 0; ++end) {
      if (end >= format.size()) runtime_.fail("expected '}' before end of string");
      open += format[end] == '{' ? 1 : format[end] == '}' ? -1 : 0;
    }
    std::string_view inside = format.substr(1, end - 2);
    format.remove_prefix(end);
    size_t split = 0;
    for (bool bracket = false; split < inside.size(); ++split) {
      if (inside[split] == '[') bracket = true;
      if (inside[split] == ']') bracket = false;
      if (!bracket && (inside[split] == ':' || inside[split] == '!')) break;
    }
    const Value value = named(inside.substr(0, split));
    inside.remove_prefix(split);
    return shown(value, inside, depth);
  }

  std::string shown(Value value, std::string_view rest, int depth) {
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':'))
        runtime_.fail("expected ':' after conversion specifier");
      if (rest[1] != 'r' && rest[1] != 's')
        runtime_.outside(std::string("the conversion !") + rest[1] + " of format()");
      value = runtime_.text(rest[1] == 'r' ? repr(runtime_, value) : printed(runtime_, value));
      rest.remove_prefix(2);
    }
    if (rest.starts_with(':')) rest.remove_prefix(1);
    const std::string spec = run(rest, depth + 1);
    const bool has_formats = value.as_number() || value.as_text() != nullptr;
    if (!spec.empty() && !has_formats) {
      runtime_.fail("unsupported format string passed to " + type_name(value) + ".__format__");
    }
    return formatted(runtime_, value, read_format_spec(runtime_, spec));
  }

  Value named(std::string_view name) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = first(name.substr(0, end));
    for (name.remove_prefix(end); !name.empty();) {
      runtime_.step();
      const bool item = name[0] == '[';
      const size_t stop = item ? name.find(']') : std::min(name.find_first_of(".[", 1), name.size());
      if (stop == name.npos) runtime_.fail("Missing ']' in format string");
      const std::string_view key = name.substr(1, stop - 1);
      if (key.empty()) runtime_.fail("Empty attribute in format string");
      const bool digits = item && key.find_first_not_of("0123456789") == key.npos;
      value =
          !item ? member_of(runtime_, value, key)
                : item_of(runtime_, value,
                          digits ? Value(*read_integer(runtime_, key, 10)) : runtime_.text(std::string(key)));
      name.remove_prefix(std::min(stop + (item ? 1 : 0), name.size()));
    }
    return value;
  }

  Value first(std::string_view name) {
    const bool digits = name.find_first_not_of("0123456789") == name.npos;
    if (!digits) {
      for (const auto& [key, value] : arguments_.named) {
        if (key == name) return value;
      }
      runtime_.fail("the format names '" + std::string(name) + "', which is not among its arguments");
    }
    if (numbered_ != Numbering::kNone && (numbered_ == Numbering::kAutomatic) != name.empty()) {
      runtime_.fail("cannot switch between manual field specification and automatic field numbering");
    }
    numbered_ = name.empty() ? Numbering::kAutomatic : Numbering::kManual;
    const size_t index = name.empty() ? used_++ : static_cast<size_t>(*read_integer(runtime_, name, 10));
    if (index >= arguments_.positional.size())
      runtime_.fail("Replacement index " + std::to_string(index) + " out of range for positional args tuple");
    return arguments_.positional[index];
  }

  enum class Numbering { kNone, kAutomatic, kManual };
  Runtime& runtime_;
  const Arguments& arguments_;
  Numbering numbered_ = Numbering::kNone;
  size_t used_ = 0;
};

}  // namespace

Value brace_formatted(Runtime& runtime, const Text& format, const Arguments& arguments) {
  if (format.escaped) runtime.outside("formatting a text that is marked as safe");
  return runtime.text(BraceFormat(runtime, arguments).run(format.bytes));
}

}  // namespace hftrain::chat
