// One rendering of a template: its names, its output, and how deep it is in itself.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "hftrain/chat/chat_template.h"
#include "hftrain/chat/statements.h"

namespace hftrain::chat {

// The names of a loop's round, of a macro's call, of a block. Assignments go to the innermost one.
struct Scope {
  struct Entry {
    Value value;
    Charge charge;
  };
  std::shared_ptr<Scope> parent;
  std::unordered_map<std::string, Entry> names;
};

class Renderer {
 public:
  Renderer(Runtime& runtime_, const Variables& variables);
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  Value evaluate(const Expression& expression);
  Flow run(const Block& block);

  // ----- names -----
  Value look_up(const std::string& name);
  void set(const std::string& name, Value value);
  void assign(const Target& target, const Value& value);
  const std::shared_ptr<Scope>& scope() const { return scope_; }
  // Scopes that a macro holds on to, which holds on to them.
  void outlives(const std::shared_ptr<Scope>& scope);

  // A scope of its own, inside `parent`, for as long as this lives.
  class InScope {
   public:
    InScope(Renderer& renderer, std::shared_ptr<Scope> parent);
    InScope(const InScope&) = delete;
    InScope& operator=(const InScope&) = delete;
    ~InScope() { renderer_.scope_ = std::move(before_); }

   private:
    Renderer& renderer_;
    std::shared_ptr<Scope> before_;
  };

  // ----- output -----
  void write(std::string_view text);
  // What `block` puts out, as a text of its own.
  std::string captured(const Block& block);
  std::string captured(const std::function<void()>& put_out);
  // Marks what is put out next, `text`, as an assistant's.
  void write_generated(std::string_view text);
  Rendered take() { return {std::move(top_.text), std::move(generated_)}; }

  Runtime& runtime;

 private:
  struct Sink {
    std::string text;
    Charge charge;
  };
  // Counts how deep evaluation is in itself.
  class Deeper;

  Sink top_;
  Sink* sink_ = &top_;
  int64_t top_characters_ = 0;
  std::vector<CharacterRange> generated_;
  std::shared_ptr<Scope> scope_;
  size_t depth_ = 0;
};

}  // namespace hftrain::chat
