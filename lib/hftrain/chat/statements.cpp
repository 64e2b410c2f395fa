#include "hftrain/chat/statements.h"

#include "hftrain/chat/iteration.h"
#include "hftrain/chat/loop.h"
#include "hftrain/chat/macro.h"
#include "hftrain/chat/printing.h"
#include "hftrain/chat/renderer.h"

namespace hftrain::chat {
namespace {

Value filtered(Renderer& renderer, const std::vector<FilterStep>& filters, Value value) {
  for (const FilterStep& step : filters) value = step.apply(renderer, value);
  return value;
}

// Does the macro's scope live on in itself? It does, in the name that it gets there.
Value macro_value(Renderer& renderer, const MacroDefinition& definition) {
  renderer.outlives(renderer.scope());
  return Value(ObjectPtr(std::make_shared<Macro>(renderer, definition)));
}

class ForRun {
 public:
  ForRun(Renderer& renderer, const ForStatement& loop, size_t depth)
      : renderer_(renderer), loop_(loop), scope_(renderer.scope()), depth_(depth) {}

  // How the block around the loop goes on: its else may leave that one.
  Flow run(const Value& iterable) {
    const auto loop = std::make_shared<Loop>(selected(iterable), length(iterable), depth_, again());
    struct Finish {
      Loop& loop;
      ~Finish() { loop.finish(); }
    } const finish{*loop};
    bool any = false;
    while (const auto item = loop->advance()) {
      any = true;
      const Renderer::InScope inside(renderer_, scope_);
      renderer_.set("loop", Value(ObjectPtr(loop)));
      renderer_.assign(loop_.target, *item);
      if (renderer_.run(loop_.body) == Flow::kBreak) break;
    }
    if (any) return Flow::kNext;
    const Renderer::InScope inside(renderer_, scope_);
    return renderer_.run(loop_.otherwise);
  }

 private:
  std::optional<int64_t> length(const Value& iterable) {
    if (loop_.test != nullptr) return std::nullopt;
    return length_of(renderer_.runtime, iterable);
  }

  // The items that pass the loop's own test.
  IteratorPtr selected(const Value& iterable) {
    IteratorPtr items = iterate(renderer_.runtime, iterable);
    if (loop_.test == nullptr) return items;
    const Value chosen = renderer_.runtime.iterator(
        [&renderer = renderer_, &loop = loop_, scope = scope_, items]() -> std::optional<Value> {
          while (auto item = items->next()) {
            const Renderer::InScope inside(renderer, scope);
            renderer.assign(loop.target, *item);
            if (is_true(renderer.runtime, renderer.evaluate(*loop.test))) return item;
          }
          return std::nullopt;
        },
        items->depth + 1);
    return *chosen.get<IteratorPtr>();
  }

  // Renders the loop once more, for items inside its items.
  std::function<Value(const Value&)> again() {
    if (!loop_.recursive) return nullptr;
    return [&renderer = renderer_, &loop = loop_, scope = scope_, depth = depth_](const Value& iterable) {
      const Renderer::InScope inside(renderer, scope);
      return renderer.runtime.text(
          renderer.captured([&] { ForRun(renderer, loop, depth + 1).run(iterable); }));
    };
  }

  Renderer& renderer_;
  const ForStatement& loop_;
  std::shared_ptr<Scope> scope_;
  size_t depth_;
};

}  // namespace

Flow TextStatement::run(Renderer& renderer) const {
  renderer.write(text);
  return Flow::kNext;
}

Flow PrintStatement::run(Renderer& renderer) const {
  const Value value = renderer.evaluate(*expression);
  renderer.runtime.place = place;
  if (const Text* plain = value.as_text()) {
    renderer.write(plain->bytes);
  } else {
    renderer.write(printed(renderer.runtime, value));
  }
  return Flow::kNext;
}

Flow IfStatement::run(Renderer& renderer) const {
  for (const auto& [test, body] : branches) {
    if (is_true(renderer.runtime, renderer.evaluate(*test))) return renderer.run(body);
  }
  return renderer.run(otherwise);
}

Flow ForStatement::run(Renderer& renderer) const {
  const Value items = renderer.evaluate(*iterable);
  renderer.runtime.place = place;
  ForRun loop(renderer, *this, 0);
  if (!recursive) return loop.run(items);
  renderer.write(renderer.captured([&] { loop.run(items); }));
  return Flow::kNext;
}

Flow SetStatement::run(Renderer& renderer) const {
  renderer.assign(target, renderer.evaluate(*expression));
  return Flow::kNext;
}

Flow SetBlock::run(Renderer& renderer) const {
  std::string text;
  {
    const Renderer::InScope inside(renderer, renderer.scope());
    text = renderer.captured(body);
  }
  const Value value = filtered(renderer, filters, renderer.runtime.text(std::move(text)));
  renderer.assign(target, value);
  return Flow::kNext;
}

Flow FilterBlock::run(Renderer& renderer) const {
  const Renderer::InScope inside(renderer, renderer.scope());
  const Value text = renderer.runtime.text(renderer.captured(body));
  renderer.write(printed(renderer.runtime, filtered(renderer, filters, text)));
  return Flow::kNext;
}

Flow WithStatement::run(Renderer& renderer) const {
  std::vector<Value> values;
  for (const auto& [target, expression] : assignments) values.push_back(renderer.evaluate(*expression));
  const Renderer::InScope inside(renderer, renderer.scope());
  for (size_t i = 0; i < values.size(); ++i) renderer.assign(assignments[i].first, values[i]);
  return renderer.run(body);
}

Flow MacroStatement::run(Renderer& renderer) const {
  renderer.set(macro.name, macro_value(renderer, macro));
  return Flow::kNext;
}

Flow CallBlock::run(Renderer& renderer) const {
  const Value body = macro_value(renderer, caller);
  renderer.write(printed(renderer.runtime, call->value_with(renderer, &body)));
  return Flow::kNext;
}

Flow GenerationBlock::run(Renderer& renderer) const {
  std::string text;
  {
    const Renderer::InScope inside(renderer, renderer.scope());
    text = renderer.captured(body);
  }
  renderer.write_generated(text);
  return Flow::kNext;
}

}  // namespace hftrain::chat
