#include <algorithm>

#include "hftrain/chat/filters.h"
#include "hftrain/chat/numbers.h"
#include "hftrain/chat/parser.h"
#include "hftrain/chat/value_tests.h"

namespace hftrain::chat {
namespace {

constexpr size_t kDeepestExpression = 300;

std::optional<Operator> operator_of(const Token& token, std::string_view signs) {
  if (token.kind != TokenKind::kSign) return std::nullopt;
  for (const Operator operation : {Operator::kAdd, Operator::kSubtract, Operator::kMultiply,
                                   Operator::kDivide, Operator::kFloorDivide, Operator::kModulo}) {
    const std::string_view sign = sign_of(operation);
    if (token.text == sign && signs.find(" " + std::string(sign) + " ") != signs.npos) return operation;
  }
  return std::nullopt;
}

bool compares(const Token& token) {
  constexpr std::string_view kSigns[] = {"==", "!=", "<", "<=", ">", ">="};
  return token.kind == TokenKind::kSign && std::ranges::find(kSigns, token.text) != std::end(kSigns);
}

}  // namespace

ExpressionPtr Parser::deepened(ExpressionPtr node, size_t deepest) {
  node->depth = deepest + 1;
  if (node->depth > kDeepestExpression) {
    stream_.fail("expressions stand in each other more than " + std::to_string(kDeepestExpression) + " deep",
                 node->place);
  }
  return node;
}

ExpressionPtr Parser::expression(bool with_condition) {
  const Nested nested(*this);
  return with_condition ? condition() : disjunction();
}

ExpressionPtr Parser::condition() {
  const Nested nested(*this);
  const Place place = stream_.current().place;
  const size_t missing = missing_.size();
  ExpressionPtr chosen = disjunction();
  while (stream_.skip_name("if")) {
    ExpressionPtr test = disjunction(), otherwise;
    if (stream_.skip_name("else")) otherwise = condition();
    const size_t deepest =
        std::max({chosen->depth, test->depth, otherwise == nullptr ? 0 : otherwise->depth});
    chosen = deepened(
        std::make_unique<Conditional>(place, std::move(test), std::move(chosen), std::move(otherwise)),
        deepest);
    missing_.resize(missing);
  }
  return chosen;
}

ExpressionPtr Parser::disjunction() {
  ExpressionPtr left = conjunction();
  while (stream_.at_name("or")) {
    const Place place = stream_.take().place;
    ExpressionPtr right = conjunction();
    const size_t deepest = std::max(left->depth, right->depth);
    left = deepened(std::make_unique<Logic>(place, false, std::move(left), std::move(right)), deepest);
  }
  return left;
}

ExpressionPtr Parser::conjunction() {
  ExpressionPtr left = negation();
  while (stream_.at_name("and")) {
    const Place place = stream_.take().place;
    ExpressionPtr right = negation();
    const size_t deepest = std::max(left->depth, right->depth);
    left = deepened(std::make_unique<Logic>(place, true, std::move(left), std::move(right)), deepest);
  }
  return left;
}

ExpressionPtr Parser::negation() {
  if (!stream_.at_name("not")) return comparison();
  const Nested nested(*this);
  const Place place = stream_.take().place;
  ExpressionPtr operand = negation();
  const size_t deepest = operand->depth;
  return deepened(std::make_unique<Unary>(place, Sign::kNot, std::move(operand)), deepest);
}

ExpressionPtr Parser::comparison() {
  const Place place = stream_.current().place;
  ExpressionPtr first = sum();
  size_t deepest = first->depth;
  std::vector<Comparison::Step> steps;
  while (true) {
    std::string sign;
    if (compares(stream_.current())) {
      sign = stream_.take().text;
    } else if (stream_.skip_name("in")) {
      sign = "in";
    } else if (stream_.at_name("not") && stream_.next().kind == TokenKind::kName &&
               stream_.next().text == "in") {
      stream_.take(), stream_.take();
      sign = "not in";
    } else {
      break;
    }
    steps.emplace_back(sign, sum());
    deepest = std::max(deepest, steps.back().second->depth);
  }
  if (steps.empty()) return first;
  return deepened(std::make_unique<Comparison>(place, std::move(first), std::move(steps)), deepest);
}

ExpressionPtr Parser::sum() {
  ExpressionPtr left = concatenation();
  while (const auto operation = operator_of(stream_.current(), " + - ")) {
    const Place place = stream_.take().place;
    ExpressionPtr right = concatenation();
    const size_t deepest = std::max(left->depth, right->depth);
    left = deepened(std::make_unique<Binary>(place, *operation, std::move(left), std::move(right)), deepest);
  }
  return left;
}

ExpressionPtr Parser::concatenation() {
  const Place place = stream_.current().place;
  std::vector<ExpressionPtr> parts;
  parts.push_back(product());
  size_t deepest = parts[0]->depth;
  while (stream_.skip_sign("~")) {
    parts.push_back(product());
    deepest = std::max(deepest, parts.back()->depth);
  }
  if (parts.size() == 1) return std::move(parts[0]);
  return deepened(std::make_unique<Concatenation>(place, std::move(parts)), deepest);
}

ExpressionPtr Parser::product() {
  ExpressionPtr left = power();
  while (const auto operation = operator_of(stream_.current(), " * / // % ")) {
    const Place place = stream_.take().place;
    ExpressionPtr right = power();
    const size_t deepest = std::max(left->depth, right->depth);
    left = deepened(std::make_unique<Binary>(place, *operation, std::move(left), std::move(right)), deepest);
  }
  return left;
}

ExpressionPtr Parser::power() {
  ExpressionPtr left = unary();
  while (stream_.at_sign("**")) {
    const Place place = stream_.take().place;
    ExpressionPtr right = unary();
    const size_t deepest = std::max(left->depth, right->depth);
    left = deepened(std::make_unique<Binary>(place, Operator::kPower, std::move(left), std::move(right)),
                    deepest);
  }
  return left;
}

// -x|abs is (-x)|abs, and -1 ** 2 is (-1) ** 2, as in Jinja.
ExpressionPtr Parser::unary(bool with_filters) {
  const Nested nested(*this);
  ExpressionPtr node;
  if (stream_.at_sign("-") || stream_.at_sign("+")) {
    const Token sign = stream_.take();
    ExpressionPtr operand = unary(false);
    const size_t deepest = operand->depth;
    node = deepened(std::make_unique<Unary>(sign.place, sign.text == "-" ? Sign::kMinus : Sign::kPlus,
                                            std::move(operand)),
                    deepest);
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filters ? filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPtr Parser::primary() {
  if (stream_.at_sign("[")) return list();
  if (stream_.at_sign("{")) return dict();
  if (stream_.skip_sign("(")) {
    ExpressionPtr inside = tuple(true, "", true);
    stream_.expect_sign(")");
    return inside;
  }
  return literal(stream_.take());
}

ExpressionPtr Parser::literal(const Token& token) {
  const auto constant = [&](Value value) {
    return std::make_unique<Constant>(token.place, std::move(value));
  };
  const std::string& text = token.text;
  switch (token.kind) {
    case TokenKind::kName:
      if (text == "true" || text == "True") return constant(Value(true));
      if (text == "false" || text == "False") return constant(Value(false));
      if (text == "none" || text == "None") return constant(Value(None()));
      used_.caller = used_.caller || text == "caller";
      used_.varargs = used_.varargs || text == "varargs";
      used_.kwargs = used_.kwargs || text == "kwargs";
      return std::make_unique<Name>(token.place, text);
    case TokenKind::kString: {
      std::string whole = text;
      while (stream_.at(TokenKind::kString)) whole += stream_.take().text;
      return constant(Value::text(std::move(whole)));
    }
    case TokenKind::kInteger: {
      const auto value = integer_literal(text);
      if (!value) stream_.fail("a whole number of more than 64 bits", token.place);
      return constant(Value(*value));
    }
    case TokenKind::kFloat:
      return constant(Value(*read_float(text)));
    default:
      stream_.fail("unexpected " + TokenStream::description(token), token.place);
  }
}

bool Parser::at_tuple_end(std::string_view end) const {
  return stream_.at(TokenKind::kPrintEnd) || stream_.at(TokenKind::kTagEnd) || stream_.at_sign(")") ||
         (!end.empty() && stream_.at_name(end));
}

ExpressionPtr Parser::tuple(bool with_condition, std::string_view end, bool in_parentheses) {
  const Place place = stream_.current().place;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  size_t deepest = 0;
  while (true) {
    if (!items.empty()) stream_.expect_sign(",");
    if (at_tuple_end(end)) break;
    items.push_back(expression(with_condition));
    deepest = std::max(deepest, items.back()->depth);
    if (!stream_.at_sign(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !in_parentheses)
    stream_.fail("Expected an expression, got " + TokenStream::description(stream_.current()));
  return deepened(std::make_unique<ListLiteral>(place, std::move(items), true), deepest);
}

ExpressionPtr Parser::list() {
  const Place place = stream_.take().place;
  std::vector<ExpressionPtr> items;
  size_t deepest = 0;
  while (!stream_.at_sign("]")) {
    if (!items.empty()) stream_.expect_sign(",");
    if (stream_.at_sign("]")) break;
    items.push_back(expression());
    deepest = std::max(deepest, items.back()->depth);
  }
  stream_.expect_sign("]");
  return deepened(std::make_unique<ListLiteral>(place, std::move(items), false), deepest);
}

ExpressionPtr Parser::dict() {
  const Place place = stream_.take().place;
  std::vector<DictLiteral::Pair> pairs;
  size_t deepest = 0;
  while (!stream_.at_sign("}")) {
    if (!pairs.empty()) stream_.expect_sign(",");
    if (stream_.at_sign("}")) break;
    ExpressionPtr key = expression();
    stream_.expect_sign(":");
    ExpressionPtr value = expression();
    deepest = std::max({deepest, key->depth, value->depth});
    pairs.emplace_back(std::move(key), std::move(value));
  }
  stream_.expect_sign("}");
  return deepened(std::make_unique<DictLiteral>(place, std::move(pairs)), deepest);
}

ExpressionPtr Parser::postfix(ExpressionPtr owner) {
  while (true) {
    if (stream_.at_sign(".")) {
      owner = member(std::move(owner));
    } else if (stream_.at_sign("[")) {
      owner = subscript(std::move(owner));
    } else if (stream_.at_sign("(")) {
      const Place place = stream_.current().place;
      CallArguments arguments = call_arguments();
      const size_t deepest = std::max(owner->depth, arguments.depth());
      owner = deepened(std::make_unique<Call>(place, std::move(owner), std::move(arguments)), deepest);
    } else {
      return owner;
    }
  }
}

ExpressionPtr Parser::member(ExpressionPtr owner) {
  const Place place = stream_.take().place;
  const Token name = stream_.take();
  const size_t deepest = owner->depth;
  if (name.kind == TokenKind::kName) {
    return deepened(std::make_unique<Member>(place, std::move(owner), name.text), deepest);
  }
  if (name.kind != TokenKind::kInteger) stream_.fail("expected name or number", name.place);
  return deepened(std::make_unique<Item>(place, std::move(owner), literal(name)), deepest);
}

ExpressionPtr Parser::subscript(ExpressionPtr owner) {
  const Place place = stream_.take().place;
  ExpressionPtr parts[3];
  size_t colons = 0;
  while (!stream_.at_sign("]")) {
    if (stream_.skip_sign(":")) {
      if (++colons > 2) stream_.fail("a slice has at most two colons");
      continue;
    }
    if (parts[colons] != nullptr && stream_.at_sign(","))
      stream_.fail("several keys in one pair of brackets are not supported");
    if (parts[colons] != nullptr) stream_.expect_sign("]");
    parts[colons] = expression();
  }
  stream_.expect_sign("]");
  size_t deepest = owner->depth;
  for (const ExpressionPtr& part : parts) deepest = std::max(deepest, part == nullptr ? 0 : part->depth);
  if (colons == 0) {
    if (parts[0] == nullptr) stream_.fail("expected subscript expression", place);
    return deepened(std::make_unique<Item>(place, std::move(owner), std::move(parts[0])), deepest);
  }
  return deepened(std::make_unique<Slice>(place, std::move(owner), std::move(parts[0]), std::move(parts[1]),
                                          std::move(parts[2])),
                  deepest);
}

ExpressionPtr Parser::filters_and_tests(ExpressionPtr subject) {
  while (true) {
    if (stream_.skip_sign("|")) {
      FilterStep step = filter_step();
      const size_t deepest = std::max(subject->depth, step.arguments.depth());
      const Place place = step.place;
      subject = deepened(std::make_unique<Filtered>(place, std::move(subject), std::move(step)), deepest);
    } else if (stream_.at_name("is")) {
      subject = test(std::move(subject));
    } else if (stream_.at_sign("(")) {
      subject = postfix(std::move(subject));
    } else {
      return subject;
    }
  }
}

std::string Parser::dotted_name() {
  std::string name = stream_.expect(TokenKind::kName).text;
  while (stream_.skip_sign(".")) name += "." + stream_.expect(TokenKind::kName).text;
  return name;
}

FilterStep Parser::filter_step() {
  FilterStep step;
  step.place = stream_.current().place;
  step.name = dotted_name();
  check_filter(step.name, step.place);
  if (stream_.at_sign("(")) step.arguments = call_arguments();
  return step;
}

std::vector<FilterStep> Parser::filter_steps() {
  std::vector<FilterStep> steps;
  while (stream_.skip_sign("|")) steps.push_back(filter_step());
  return steps;
}

void Parser::check_filter(const std::string& name, Place place) {
  if (find_filter(name) != nullptr) return;
  missing_.emplace_back(place, is_foreign_filter(name) ? "the filter '" + name + "' is not supported"
                                                       : "No filter named '" + name + "'.");
}

void Parser::check_test(const std::string& name, Place place) {
  if (!is_test(name)) missing_.emplace_back(place, "No test named '" + name + "'.");
}

ExpressionPtr Parser::test(ExpressionPtr subject) {
  stream_.take();
  const bool negated = stream_.skip_name("not");
  const Place place = stream_.current().place;
  const std::string name = dotted_name();
  check_test(name, place);
  CallArguments arguments;
  const Token& token = stream_.current();
  const bool literal_follows = token.kind == TokenKind::kString || token.kind == TokenKind::kInteger ||
                               token.kind == TokenKind::kFloat;
  const bool name_follows =
      token.kind == TokenKind::kName && token.text != "else" && token.text != "or" && token.text != "and";
  if (stream_.at_sign("(")) {
    arguments = call_arguments();
  } else if (literal_follows || name_follows || stream_.at_sign("[") || stream_.at_sign("{")) {
    if (stream_.at_name("is")) stream_.fail("You cannot chain multiple tests with is");
    arguments.positional.push_back(postfix(primary()));
  }
  const size_t deepest = std::max(subject->depth, arguments.depth());
  ExpressionPtr tested =
      deepened(std::make_unique<Tested>(place, std::move(subject), name, std::move(arguments)), deepest);
  if (!negated) return tested;
  const size_t depth = tested->depth;
  return deepened(std::make_unique<Unary>(place, Sign::kNot, std::move(tested)), depth);
}

CallArguments Parser::call_arguments() {
  const Nested nested(*this);
  const Place place = stream_.current().place;
  const auto ensure = [&](bool valid) {
    if (!valid) stream_.fail("invalid syntax for function call expression", place);
  };
  stream_.expect_sign("(");
  CallArguments made;
  for (bool first = true; !stream_.at_sign(")"); first = false) {
    if (!first) stream_.expect_sign(",");
    if (!first && stream_.at_sign(")")) break;
    const bool named =
        stream_.at(TokenKind::kName) && stream_.next().kind == TokenKind::kSign && stream_.next().text == "=";
    if (stream_.skip_sign("*")) {
      ensure(made.rest == nullptr && made.named_rest == nullptr);
      made.rest = expression();
    } else if (stream_.skip_sign("**")) {
      ensure(made.named_rest == nullptr);
      made.named_rest = expression();
    } else if (named) {
      ensure(made.named_rest == nullptr);
      std::string name = stream_.take().text;
      stream_.take();
      made.named.emplace_back(std::move(name), expression());
    } else {
      ensure(made.rest == nullptr && made.named_rest == nullptr && made.named.empty());
      made.positional.push_back(expression());
    }
  }
  stream_.expect_sign(")");
  return made;
}

}  // namespace hftrain::chat
