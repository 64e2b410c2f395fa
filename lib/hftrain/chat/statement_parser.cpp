#include <algorithm>
#include <array>

#include "hftrain/chat/parser.h"

namespace hftrain::chat {
namespace {

constexpr size_t kDeepestSource = 400;  // brackets, conditions and tags in each other

// Jinja's tags for several templates and for escaping.
constexpr std::array<std::string_view, 9> kForeignTags = {
    "block", "extends", "include", "import", "from", "autoescape", "trans", "debug", "do"};

bool is_one_of(std::initializer_list<std::string_view> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string listed(std::initializer_list<std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "'" : " or '") + std::string(name) + "'";
  return text;
}

}  // namespace

Parser::Nested::Nested(Parser& parser) : parser_(parser) {
  if (parser_.nested_ >= kDeepestSource) {
    parser_.stream_.fail("brackets and tags stand in each other more than " + std::to_string(kDeepestSource) +
                         " deep");
  }
  ++parser_.nested_;
}

Block Parser::parse() {
  Block block = block_until({});
  if (!missing_.empty()) stream_.fail(missing_[0].second, missing_[0].first);
  return block;
}

// Up to a tag of one of the names, whose name is the current word then; to the end without names.
Block Parser::block_until(std::initializer_list<std::string_view> ends) {
  const Nested nested(*this);
  Block block;
  while (!stream_.at(TokenKind::kEnd)) {
    const Token token = stream_.take();
    if (token.kind == TokenKind::kData) {
      block.push_back(std::make_unique<TextStatement>(token.place, token.text));
    } else if (token.kind == TokenKind::kPrintBegin) {
      block.push_back(std::make_unique<PrintStatement>(token.place, tuple(true)));
      stream_.expect(TokenKind::kPrintEnd);
    } else {
      if (stream_.at(TokenKind::kName) && is_one_of(ends, stream_.current().text)) return block;
      if (stream_.skip_name("print")) {
        print_tag(block);
      } else {
        block.push_back(tag());
      }
      stream_.expect(TokenKind::kTagEnd);
    }
  }
  if (ends.size() != 0) stream_.fail("the template ends before the tag " + listed(ends));
  return block;
}

// What stands behind an opening tag, whose end is still to come.
Block Parser::body_until(std::initializer_list<std::string_view> ends) {
  stream_.skip_sign(":");
  stream_.expect(TokenKind::kTagEnd);
  return block_until(ends);
}

void Parser::print_tag(Block& block) {
  for (bool first = true; !stream_.at(TokenKind::kTagEnd); first = false) {
    if (!first) stream_.expect_sign(",");
    const Place place = stream_.current().place;
    block.push_back(std::make_unique<PrintStatement>(place, expression()));
  }
}

Parser::StatementPtr Parser::tag() {
  if (!stream_.at(TokenKind::kName)) stream_.fail("tag name expected");
  return tag_of(stream_.take());
}

Parser::StatementPtr Parser::tag_of(const Token& name) {
  const std::string& word = name.text;
  if (word == "if") return if_statement(name.place);
  if (word == "for") return for_statement(name.place);
  if (word == "set") return set_statement(name.place);
  if (word == "macro") return macro_statement(name.place);
  if (word == "call") return call_block(name.place);
  if (word == "filter") return filter_block(name.place);
  if (word == "with") return with_statement(name.place);
  if (word == "generation") return generation_block(name.place);
  if (word == "break") return jump(name.place, Flow::kBreak);
  if (word == "continue") return jump(name.place, Flow::kContinue);
  if (std::ranges::find(kForeignTags, word) != kForeignTags.end()) {
    stream_.fail("the tag '" + word + "' is not supported", name.place);
  }
  stream_.fail("Encountered unknown tag '" + word + "'.", name.place);
}

Parser::StatementPtr Parser::if_statement(Place place) {
  const size_t missing = missing_.size();
  auto made = std::make_unique<IfStatement>(place);
  for (bool more = true; more;) {
    ExpressionPtr test = tuple(false);
    made->branches.emplace_back(std::move(test), body_until({"elif", "else", "endif"}));
    more = stream_.current().text == "elif";
    if (more) stream_.take();
  }
  if (stream_.take().text == "else") {
    made->otherwise = body_until({"endif"});
    stream_.take();
  }
  missing_.resize(missing);
  return made;
}

Parser::StatementPtr Parser::for_statement(Place place) {
  auto made = std::make_unique<ForStatement>(place);
  ++loops_;
  made->target = target(false, "in");
  --loops_;
  stream_.expect_name("in");
  made->iterable = tuple(false, "recursive");
  if (stream_.skip_name("if")) made->test = expression();
  made->recursive = stream_.skip_name("recursive");
  const size_t captures = std::exchange(captures_, 0);
  ++loops_;
  made->body = body_until({"endfor", "else"});
  --loops_;
  captures_ = captures;
  if (stream_.take().text == "else") {
    if (made->recursive) ++captures_;  // what leaves the else would leave the text of the loop
    made->otherwise = body_until({"endfor"});
    if (made->recursive) --captures_;
    stream_.take();
  }
  return made;
}

Parser::StatementPtr Parser::jump(Place place, Flow flow) {
  if (loops_ == 0) stream_.fail("'break' and 'continue' stand in a loop", place);
  if (captures_ != 0)
    stream_.fail("leaving a block whose text is kept by 'break' or 'continue' is not supported", place);
  return std::make_unique<JumpStatement>(place, flow);
}

std::string Parser::new_name() {
  const Token name = stream_.expect(TokenKind::kName);
  if (is_one_of({"true", "false", "none", "True", "False", "None"}, name.text)) {
    stream_.fail("can't assign to '" + name.text + "'", name.place);
  }
  if (name.text == "loop" && loops_ != 0) {
    stream_.fail("Can't assign to special loop variable in for-loop target", name.place);
  }
  return name.text;
}

Target Parser::single_target(bool with_members) {
  const Nested nested(*this);
  const Place place = stream_.current().place;
  if (stream_.skip_sign("(")) {
    Target made = target(with_members);
    stream_.expect_sign(")");
    return made;
  }
  if (!stream_.at(TokenKind::kName))
    stream_.fail("can't assign to " + TokenStream::description(stream_.current()));
  const bool member = with_members && stream_.next().kind == TokenKind::kSign && stream_.next().text == ".";
  Target made{.kind = member ? Target::Kind::kMember : Target::Kind::kName, .place = place};
  made.name = member ? stream_.take().text : new_name();
  if (!member) return made;
  stream_.take();
  made.member = stream_.expect(TokenKind::kName).text;
  return made;
}

Target Parser::target(bool with_members, std::string_view end) {
  Target made{.kind = Target::Kind::kTuple, .place = stream_.current().place};
  bool is_tuple = false;
  while (!(at_tuple_end(end) && !made.parts.empty())) {
    made.parts.push_back(single_target(with_members));
    if (!stream_.skip_sign(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return made;
  Target single = std::move(made.parts[0]);
  return single;
}

Parser::StatementPtr Parser::set_statement(Place place) {
  Target assigned = target(true);
  if (stream_.skip_sign("=")) {
    auto made = std::make_unique<SetStatement>(place);
    made->target = std::move(assigned);
    made->expression = tuple(true);
    return made;
  }
  auto made = std::make_unique<SetBlock>(place);
  made->target = std::move(assigned);
  made->filters = filter_steps();
  ++captures_;
  made->body = body_until({"endset"});
  --captures_;
  stream_.take();
  return made;
}

Parser::StatementPtr Parser::filter_block(Place place) {
  auto made = std::make_unique<FilterBlock>(place);
  made->filters.push_back(filter_step());
  for (FilterStep& step : filter_steps()) made->filters.push_back(std::move(step));
  ++captures_;
  made->body = body_until({"endfilter"});
  --captures_;
  stream_.take();
  return made;
}

Parser::StatementPtr Parser::with_statement(Place place) {
  auto made = std::make_unique<WithStatement>(place);
  while (!stream_.at(TokenKind::kTagEnd)) {
    if (!made->assignments.empty()) stream_.expect_sign(",");
    Target assigned = target(false);
    stream_.expect_sign("=");
    made->assignments.emplace_back(std::move(assigned), expression());
  }
  made->body = body_until({"endwith"});
  stream_.take();
  return made;
}

void Parser::signature(MacroDefinition& macro) {
  stream_.expect_sign("(");
  bool has_default = false;
  while (!stream_.at_sign(")")) {
    if (!macro.parameters.empty()) stream_.expect_sign(",");
    std::string name = stream_.expect(TokenKind::kName).text;
    ExpressionPtr otherwise = stream_.skip_sign("=") ? expression() : nullptr;
    if (otherwise == nullptr && has_default) stream_.fail("non-default argument follows default argument");
    has_default = otherwise != nullptr;
    macro.parameters.emplace_back(std::move(name), std::move(otherwise));
  }
  stream_.expect_sign(")");
}

// Loops around a macro are not the macro's; what it uses of caller, varargs and kwargs is its own.
void Parser::macro_body(MacroDefinition& macro, std::string_view end) {
  const Used outer = std::exchange(used_, Used());
  const size_t loops = std::exchange(loops_, 0), captures = std::exchange(captures_, 0);
  macro.body = body_until({end});
  const auto is_parameter = [&](std::string_view name) {
    return std::ranges::any_of(macro.parameters,
                               [&](const auto& parameter) { return parameter.first == name; });
  };
  macro.uses_caller = used_.caller && !is_parameter("caller");
  macro.uses_varargs = used_.varargs && !is_parameter("varargs");
  macro.uses_kwargs = used_.kwargs && !is_parameter("kwargs");
  used_ = {used_.caller || outer.caller, used_.varargs || outer.varargs, used_.kwargs || outer.kwargs};
  loops_ = loops;
  captures_ = captures;
  stream_.take();
}

Parser::StatementPtr Parser::macro_statement(Place place) {
  auto made = std::make_unique<MacroStatement>(place);
  made->macro.name = new_name();
  signature(made->macro);
  macro_body(made->macro, "endmacro");
  return made;
}

Parser::StatementPtr Parser::call_block(Place place) {
  auto made = std::make_unique<CallBlock>(place);
  if (stream_.at_sign("(")) signature(made->caller);
  ExpressionPtr called = expression();
  if (dynamic_cast<Call*>(called.get()) == nullptr) stream_.fail("expected call", place);
  made->call.reset(static_cast<Call*>(called.release()));
  macro_body(made->caller, "endcall");
  return made;
}

Parser::StatementPtr Parser::generation_block(Place place) {
  auto made = std::make_unique<GenerationBlock>(place);
  has_generation_ = true;
  const size_t loops = std::exchange(loops_, 0), captures = std::exchange(captures_, 0);
  made->body = body_until({"endgeneration"});
  loops_ = loops;
  captures_ = captures;
  stream_.take();
  return made;
}

}  // namespace hftrain::chat
