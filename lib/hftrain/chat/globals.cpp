#include "hftrain/chat/globals.h"

#include <algorithm>

#include "hftrain/chat/arguments.h"
#include "hftrain/chat/callables.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/printing.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {
namespace {

Value make_range(Runtime& runtime, const Arguments& arguments) {
  const BoundArguments bound(runtime, "range", arguments, {"start", "stop", "step"}, 1);
  const bool one = bound.get(1) == nullptr;
  for (size_t i = 0; i < 3; ++i) {
    if (bound.get(i) == nullptr || bound.get(i)->as_integer()) continue;
    if (const auto* undefined = bound.get(i)->get<Undefined>()) runtime.fail(reason_of(*undefined));
    runtime.fail("'" + type_name(*bound.get(i)) + "' object cannot be interpreted as an integer");
  }
  const Range range{one ? 0 : bound.integer(0, 0), one ? bound.integer(0, 0) : bound.integer(1, 0),
                    bound.integer(2, 1)};
  if (range.step == 0) runtime.fail("range() arg 3 must not be zero");
  if (range.size() > kLongestRange) {
    runtime.too_much("Range too big. The sandbox blocks ranges larger than " + std::to_string(kLongestRange) +
                     ".");
  }
  return Value(range);
}

// dict(mapping or pairs, name=value…).
Dict dict_of(Runtime& runtime, const Arguments& arguments) {
  if (arguments.positional.size() > 1) runtime.fail("dict expected at most 1 argument");
  Dict dict;
  if (!arguments.positional.empty() && arguments.positional[0].as_dict() != nullptr) {
    dict = arguments.positional[0].as_dict()->copy();
  } else if (!arguments.positional.empty()) {
    for (const Value& pair : items_of(runtime, arguments.positional[0])) {
      const std::vector<Value> both = items_of(runtime, pair);
      if (both.size() != 2) runtime.fail("a dict is made of pairs");
      dict.set(runtime, both[0], both[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) dict.set(runtime, runtime.text(name), value);
  return dict;
}

Value make_dict(Runtime& runtime, const Arguments& arguments) {
  return runtime.dict(dict_of(runtime, arguments));
}

Value make_namespace(Runtime& runtime, const Arguments& arguments) {
  const auto made = std::make_shared<Namespace>();
  runtime.outlives(made, [held = made.get()] { held->clear(); });
  const Dict members = dict_of(runtime, arguments);
  for (const auto& [name, value] : members.items()) {
    if (name.as_text() != nullptr) made->set(runtime, name.as_text()->bytes, value);
  }
  return Value(ObjectPtr(made));
}

Value make_cycler(Runtime& runtime, const Arguments& arguments) {
  if (!arguments.named.empty()) runtime.fail("cycler() takes no named arguments");
  if (arguments.positional.empty()) runtime.fail("at least one item has to be provided");
  return Value(ObjectPtr(std::make_shared<Cycler>(runtime.tuple(arguments.positional))));
}

Value make_joiner(Runtime& runtime, const Arguments& arguments) {
  const BoundArguments bound(runtime, "joiner", arguments, {"sep"});
  return Value(
      ObjectPtr(std::make_shared<Joiner>(bound.get(0) != nullptr ? *bound.get(0) : runtime.text(", "))));
}

Value raise_exception(Runtime& runtime, const Arguments& arguments) {
  const BoundArguments bound(runtime, "raise_exception", arguments, {"message"}, 1);
  Error error(ExitCode::kData,
              "the chat template refuses this conversation: " + printed(runtime, *bound.get(0)));
  error.where(where_of(runtime.origin, runtime.place)).why("the template calls raise_exception() there");
  throw error.hint(
      "change the conversation so that it is what the model was made for, or name another template");
}

// What Python's strftime adds to C's: microseconds, which are zero here, and no name for a time zone.
std::string time_in_words(const std::tm& now, const std::string& format) {
  std::string prepared;
  for (size_t i = 0; i < format.size(); ++i) {
    const char letter = format[i] == '%' && i + 1 < format.size() ? format[i + 1] : '\0';
    if (letter == 'f' || letter == 'z' || letter == 'Z') {
      prepared += letter == 'f' ? "000000" : "";
      ++i;
    } else {
      prepared += format[i];
      if (letter != '\0') prepared += format[++i];
    }
  }
  prepared += ' ';  // so that nothing is told from too much
  std::string made(prepared.size() * 4 + 4096, '\0');
  made.resize(std::strftime(made.data(), made.size(), prepared.c_str(), &now));
  if (!made.empty()) made.pop_back();
  return made;
}

Value strftime_now(Runtime& runtime, const Arguments& arguments) {
  constexpr size_t kLongestFormat = 4096;
  const BoundArguments bound(runtime, "strftime_now", arguments, {"format"}, 1);
  const std::string format(bound.text(0));
  if (format.size() > kLongestFormat)
    runtime.too_much("strftime_now() is given a format of more than 4096 bytes");
  if (format.find('\0') != format.npos) runtime.fail("embedded null character");
  return runtime.text(tokenizer::unicode::replace_invalid(time_in_words(runtime.now, format)));
}

struct NamedGlobal {
  std::string_view name;
  Value (*function)(Runtime&, const Arguments&);
  std::string_view type;
};

constexpr NamedGlobal kGlobals[] = {{"cycler", make_cycler, "type"},
                                    {"dict", make_dict, "type"},
                                    {"joiner", make_joiner, "type"},
                                    {"namespace", make_namespace, "type"},
                                    {"raise_exception", raise_exception, "function"},
                                    {"range", make_range, "function"},
                                    {"strftime_now", strftime_now, "function"}};

}  // namespace

std::optional<Value> global(Runtime& runtime, std::string_view name) {
  const auto* found = std::ranges::find(kGlobals, name, &NamedGlobal::name);
  if (found != std::end(kGlobals)) return function(found->type, found->function);
  if (name == "lipsum" || name == "self") runtime.outside("the name '" + std::string(name) + "'");
  return std::nullopt;
}

}  // namespace hftrain::chat
