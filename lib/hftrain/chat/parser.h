// From words to statements and expressions, by the grammar of Jinja's own parser. Nesting is bounded here, so that neither
// evaluating nor letting go of a template overflows the stack.
#pragma once

#include <string>
#include <vector>

#include "hftrain/chat/statements.h"
#include "hftrain/chat/token_stream.h"

namespace hftrain::chat {

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string origin) : stream_(std::move(tokens), std::move(origin)) {}

  // Errors (kData): what Jinja refuses, and what it has and is not here.
  Block parse();
  bool has_generation() const { return has_generation_; }

 private:
  using StatementPtr = std::unique_ptr<Statement>;

  // ----- statements (statement_parser.cpp) -----
  Block block_until(std::initializer_list<std::string_view> ends);
  Block body_until(std::initializer_list<std::string_view> ends);
  StatementPtr tag();
  StatementPtr tag_of(const Token& name);
  StatementPtr if_statement(Place place);
  StatementPtr for_statement(Place place);
  StatementPtr set_statement(Place place);
  StatementPtr filter_block(Place place);
  StatementPtr with_statement(Place place);
  StatementPtr macro_statement(Place place);
  StatementPtr call_block(Place place);
  StatementPtr generation_block(Place place);
  StatementPtr jump(Place place, Flow flow);
  void print_tag(Block& block);
  void signature(MacroDefinition& macro);
  void macro_body(MacroDefinition& macro, std::string_view end);
  Target target(bool with_members, std::string_view end = "");
  Target single_target(bool with_members);
  std::string new_name();

  // ----- expressions (expression_parser.cpp) -----
  ExpressionPtr expression(bool with_condition = true);
  ExpressionPtr condition();
  ExpressionPtr disjunction();
  ExpressionPtr conjunction();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters = true);
  ExpressionPtr primary();
  ExpressionPtr literal(const Token& token);
  ExpressionPtr tuple(bool with_condition, std::string_view end = "", bool in_parentheses = false);
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr owner);
  ExpressionPtr filters_and_tests(ExpressionPtr subject);
  ExpressionPtr member(ExpressionPtr owner);
  ExpressionPtr subscript(ExpressionPtr owner);
  ExpressionPtr test(ExpressionPtr subject);
  CallArguments call_arguments();
  FilterStep filter_step();
  std::vector<FilterStep> filter_steps();
  std::string dotted_name();
  bool at_tuple_end(std::string_view end) const;

  // `node`, one deeper than the deepest of what it holds.
  ExpressionPtr deepened(ExpressionPtr node, size_t deepest);
  // Counts the parser's calls of itself.
  class Nested {
   public:
    explicit Nested(Parser& parser);
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    ~Nested() { --parser_.nested_; }

   private:
    Parser& parser_;
  };
  // Filters and tests that do not exist are refused, but where a condition may leave them out.
  void check_filter(const std::string& name, Place place);
  void check_test(const std::string& name, Place place);

  TokenStream stream_;
  size_t nested_ = 0;
  size_t loops_ = 0;     // around this place, in the same macro
  size_t captures_ = 0;  // blocks that are stored, in the same loop
  bool has_generation_ = false;
  std::vector<std::pair<Place, std::string>>
      missing_;  // names that are refused unless a condition is around them
  struct Used {
    bool caller = false, varargs = false, kwargs = false;
  };
  Used used_;  // by the macro around this place
};

}  // namespace hftrain::chat
