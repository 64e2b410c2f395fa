// The statements of a template: text, {{ }} and tags.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hftrain/chat/expressions.h"

namespace hftrain::chat {

enum class Flow { kNext, kBreak, kContinue };

struct Statement {
  explicit Statement(Place place_) : place(place_) {}
  virtual ~Statement() = default;
  virtual Flow run(Renderer& renderer) const = 0;
  Place place;
};
using Block = std::vector<std::unique_ptr<Statement>>;

// What is assigned to: a name, a member of a namespace, or several of these.
struct Target {
  enum class Kind { kName, kMember, kTuple };
  Kind kind = Kind::kName;
  Place place;
  std::string name, member;
  std::vector<Target> parts;
};

struct TextStatement : Statement {
  TextStatement(Place at, std::string text_) : Statement(at), text(std::move(text_)) {}
  Flow run(Renderer& renderer) const override;
  std::string text;
};

struct PrintStatement : Statement {
  PrintStatement(Place at, ExpressionPtr expression_) : Statement(at), expression(std::move(expression_)) {}
  Flow run(Renderer& renderer) const override;
  ExpressionPtr expression;
};

struct IfStatement : Statement {
  using Statement::Statement;
  Flow run(Renderer& renderer) const override;
  std::vector<std::pair<ExpressionPtr, Block>> branches;
  Block otherwise;
};

struct ForStatement : Statement {
  using Statement::Statement;
  Flow run(Renderer& renderer) const override;
  Target target;
  ExpressionPtr iterable, test;  // test: null where there is none
  Block body, otherwise;
  bool recursive = false;
};

struct SetStatement : Statement {
  using Statement::Statement;
  Flow run(Renderer& renderer) const override;
  Target target;
  ExpressionPtr expression;
};

// {% set x %}…{% endset %}
struct SetBlock : Statement {
  using Statement::Statement;
  Flow run(Renderer& renderer) const override;
  Target target;
  std::vector<FilterStep> filters;
  Block body;
};

struct FilterBlock : Statement {
  using Statement::Statement;
  Flow run(Renderer& renderer) const override;
  std::vector<FilterStep> filters;
  Block body;
};

struct WithStatement : Statement {
  using Statement::Statement;
  Flow run(Renderer& renderer) const override;
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  Block body;
};

struct MacroDefinition {
  std::string name;
  std::vector<std::pair<std::string, ExpressionPtr>> parameters;  // with defaults, or null
  Block body;
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct MacroStatement : Statement {
  using Statement::Statement;
  Flow run(Renderer& renderer) const override;
  MacroDefinition macro;
};

// {% call(x) macro() %}…{% endcall %}: the body is the macro's caller().
struct CallBlock : Statement {
  using Statement::Statement;
  Flow run(Renderer& renderer) const override;
  MacroDefinition caller;
  std::unique_ptr<Call> call;
};

// {% generation %}…{% endgeneration %}: what an assistant says.
struct GenerationBlock : Statement {
  using Statement::Statement;
  Flow run(Renderer& renderer) const override;
  Block body;
};

struct JumpStatement : Statement {
  JumpStatement(Place at, Flow flow_) : Statement(at), flow(flow_) {}
  Flow run(Renderer&) const override { return flow; }
  Flow flow;
};

}  // namespace hftrain::chat
