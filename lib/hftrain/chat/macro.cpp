#include "hftrain/chat/macro.h"

#include <algorithm>

#include "hftrain/chat/printing.h"

namespace hftrain::chat {
namespace {

Value unprovided(const std::string& why) {
  return Value(Undefined{std::make_shared<const std::string>(why)});
}

}  // namespace

std::optional<Value> Macro::member(Runtime& runtime, std::string_view name) {
  if (name == "name") return runtime.text(definition_.name);
  if (name != "arguments") return std::nullopt;
  std::vector<Value> names;
  for (const auto& [parameter, otherwise] : definition_.parameters) names.push_back(runtime.text(parameter));
  return runtime.tuple(std::move(names));
}

std::optional<std::string> Macro::printed(Runtime&) {
  return "<Macro " + (definition_.name.empty() ? "anonymous" : in_quotes(definition_.name)) + ">";
}

Value Macro::call(Runtime& runtime, const Arguments& arguments) {
  const Renderer::InScope inside(renderer_, scope_);
  bind(runtime, arguments);
  return runtime.text(renderer_.captured(definition_.body));
}

void Macro::bind(Runtime& runtime, const Arguments& arguments) {
  std::vector<bool> used(arguments.named.size(), false);
  std::vector<const Value*> given;
  for (size_t i = 0; i < definition_.parameters.size(); ++i) {
    if (i < arguments.positional.size()) {
      given.push_back(&arguments.positional[i]);
      continue;
    }
    const auto named = std::ranges::find(arguments.named, definition_.parameters[i].first,
                                         [](const auto& argument) { return argument.first; });
    given.push_back(named == arguments.named.end() ? nullptr : &named->second);
    if (named != arguments.named.end()) used[static_cast<size_t>(named - arguments.named.begin())] = true;
  }
  bind_rest(runtime, arguments, used);
  for (size_t i = 0; i < given.size(); ++i) {
    const auto& [name, otherwise] = definition_.parameters[i];
    if (given[i] != nullptr) {
      renderer_.set(name, *given[i]);
    } else if (otherwise != nullptr) {
      renderer_.set(name, renderer_.evaluate(*otherwise));
    } else {
      renderer_.set(name, unprovided("parameter '" + name + "' was not provided"));
    }
  }
}

// caller, kwargs and varargs, for a body that names them; what is left otherwise is one too many.
void Macro::bind_rest(Runtime& runtime, const Arguments& arguments, std::vector<bool>& used) {
  Value caller = unprovided("No caller defined");
  Dict further;
  for (size_t i = 0; i < arguments.named.size(); ++i) {
    const auto& [name, value] = arguments.named[i];
    if (used[i]) continue;
    if (name == "caller" && definition_.uses_caller) {
      caller = value;
    } else if (definition_.uses_kwargs) {
      further.set(runtime, runtime.text(name), value);
    } else {
      runtime.fail("macro '" + definition_.name + "' takes no keyword argument '" + name + "'");
    }
  }
  if (definition_.uses_caller) renderer_.set("caller", caller);
  if (definition_.uses_kwargs) renderer_.set("kwargs", runtime.dict(std::move(further)));
  const size_t count = std::min(definition_.parameters.size(), arguments.positional.size());
  if (definition_.uses_varargs) {
    const auto first = arguments.positional.begin() + static_cast<std::ptrdiff_t>(count);
    renderer_.set("varargs", runtime.tuple({first, arguments.positional.end()}));
  } else if (arguments.positional.size() > count) {
    runtime.fail("macro '" + definition_.name + "' takes not more than " + std::to_string(count) +
                 " argument(s)");
  }
}

}  // namespace hftrain::chat
