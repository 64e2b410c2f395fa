#include "hftrain/chat/renderer.h"

#include "hftrain/chat/callables.h"
#include "hftrain/chat/globals.h"
#include "hftrain/chat/item_access.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {

class Renderer::Deeper {
 public:
  explicit Deeper(Renderer& renderer) : renderer_(renderer) {
    if (++renderer_.depth_ > renderer_.runtime.limits.depth) {
      --renderer_.depth_;
      renderer_.runtime.too_much("macros or loops call themselves more than " +
                                 std::to_string(renderer_.runtime.limits.depth) + " deep");
    }
  }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { --renderer_.depth_; }

 private:
  Renderer& renderer_;
};

Renderer::Renderer(Runtime& runtime_, const Variables& variables)
    : runtime(runtime_), scope_(std::make_shared<Scope>()) {
  for (const auto& [name, value] : variables) scope_->names[name].value = value;
  const auto outer = scope_;
  scope_ = std::make_shared<Scope>();
  scope_->parent = outer;
}

Value Renderer::evaluate(const Expression& expression) {
  const Deeper deeper(*this);
  runtime.place = expression.place;
  runtime.step();
  return expression.value(*this);
}

Flow Renderer::run(const Block& block) {
  const Deeper deeper(*this);
  for (const auto& statement : block) {
    runtime.place = statement->place;
    runtime.step();
    const Flow flow = statement->run(*this);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Value Renderer::look_up(const std::string& name) {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    runtime.step();
    const auto found = scope->names.find(name);
    if (found != scope->names.end()) return found->second.value;
  }
  if (auto found = global(runtime, name)) return std::move(*found);
  return Value(undefined_name(name));
}

void Renderer::set(const std::string& name, Value value) {
  constexpr uint64_t kBytesOfName = 128;
  const auto [entry, is_new] = scope_->names.try_emplace(name);
  if (is_new) entry->second.charge = runtime.charge(kBytesOfName + name.size());
  entry->second.value = std::move(value);
}

void Renderer::assign(const Target& target, const Value& value) {
  runtime.place = target.place;
  if (target.kind == Target::Kind::kName) return set(target.name, value);
  if (target.kind == Target::Kind::kMember) {
    const Value owner = look_up(target.name);
    const auto* object = owner.get<ObjectPtr>();
    auto* space = object == nullptr ? nullptr : dynamic_cast<Namespace*>(object->get());
    if (space == nullptr) runtime.fail("cannot assign attribute on non-namespace object");
    return space->set(runtime, target.member, value);
  }
  const std::vector<Value> items = items_of(runtime, value);
  if (items.size() != target.parts.size()) {
    runtime.fail("there are " + std::to_string(items.size()) + " values for " +
                 std::to_string(target.parts.size()) + " names");
  }
  for (size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i]);
}

void Renderer::outlives(const std::shared_ptr<Scope>& scope) {
  runtime.outlives(scope, [held = scope.get()] {
    held->names.clear();
    held->parent.reset();
  });
}

Renderer::InScope::InScope(Renderer& renderer, std::shared_ptr<Scope> parent)
    : renderer_(renderer), before_(std::move(renderer.scope_)) {
  renderer_.scope_ = std::make_shared<Scope>();
  renderer_.scope_->parent = std::move(parent);
}

void Renderer::write(std::string_view text) {
  sink_->charge.add(runtime.charge(text.size()));
  sink_->text += text;
  if (sink_ == &top_) top_characters_ += static_cast<int64_t>(tokenizer::unicode::count(text));
}

std::string Renderer::captured(const Block& block) {
  return captured([&] { run(block); });
}

std::string Renderer::captured(const std::function<void()>& put_out) {
  Sink sink;
  struct Restore {
    Sink*& slot;
    Sink* before;
    ~Restore() { slot = before; }
  } const restore{sink_, std::exchange(sink_, &sink)};
  put_out();
  return std::move(sink.text);
}

// As transformers counts: from what the template has put out by itself, not inside a macro or a block.
void Renderer::write_generated(std::string_view text) {
  const auto length = static_cast<int64_t>(tokenizer::unicode::count(text));
  generated_.push_back({top_characters_, top_characters_ + length});
  write(text);
}

}  // namespace hftrain::chat
