#include "hftrain/interchange/pickle_reader.h"

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hftrain/base/printable.h"
#include "hftrain/interchange/pickle_calls.h"

namespace hftrain::interchange {
namespace {

using Kind = PickledValue::Kind;
using ItemKind = PickleItem::Kind;

// The stack machine.
class Machine {
 public:
  Machine(std::string_view bytes, const std::string& origin, const StorageFinder& storages,
          RecordNames records)
      : rest_(bytes), storages_(storages) {
    state_.origin = origin;
    state_.records = records;
  }
  PickledDocument run();

 private:
  using Instruction = void (Machine::*)();
  struct Known {
    unsigned char code;
    Instruction run;
  };
  static const std::array<Known, 39> kKnown;

  void step(unsigned char code);
  PickledDocument document();

  // what follows an instruction
  std::string_view take(uint64_t length) {
    if (length > rest_.size()) refuse_pickle(state_, "it is cut short");
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }
  template <typename Integer>
  Integer number() {
    Integer value = 0;
    const std::string_view bytes = take(sizeof value);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string line() {
    const size_t length = rest_.find('\n');
    if (length == std::string_view::npos) refuse_pickle(state_, "it is cut short");
    std::string text(rest_.substr(0, length));
    rest_.remove_prefix(length + 1);
    return text;
  }

  // the stack
  uint32_t keep(PickleItem item) {
    if (state_.items.size() >= kMostPickledValues) refuse_pickle(state_, "it makes too many values");
    state_.items.push_back(std::move(item));
    return static_cast<uint32_t>(state_.items.size() - 1);
  }
  void push(PickleItem item) { stack_.push_back(keep(std::move(item))); }
  uint32_t pop() {
    const size_t bottom = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= bottom) refuse_pickle(state_, "an instruction has nothing to work on");
    const uint32_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  uint32_t top() {
    const uint32_t position = pop();
    stack_.push_back(position);
    return position;
  }
  std::vector<uint32_t> pop_to_mark() {
    if (marks_.empty()) refuse_pickle(state_, "a container has no beginning");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<uint32_t> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }

  // values
  void push_value(Kind kind) { push(plain(kind)); }
  void push_integer(int64_t value, Kind kind = Kind::kInteger) {
    PickleItem item = plain(kind);
    item.value.integer = value;
    push(std::move(item));
  }
  void push_text(Kind kind, uint64_t length) {
    PickleItem item = plain(kind);
    item.value.text = take(length);
    push(std::move(item));
  }
  void push_tuple(std::vector<uint32_t> items) {
    PickleItem item = plain(Kind::kTuple);
    item.value.items = std::move(items);
    push(std::move(item));
  }
  void push_tuple_of(size_t count) {
    std::vector<uint32_t> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    push_tuple(std::move(items));
  }
  static PickleItem plain(Kind kind) {
    PickleItem item;
    item.value.kind = kind;
    return item;
  }
  void add_to(Kind kind, const std::vector<uint32_t>& items) {
    PickleItem& container = state_.items[top()];
    if (container.kind != ItemKind::kValue || container.value.kind != kind)
      refuse_pickle(state_, std::string("what is put into ") + kind_name(kind) + " has none to go to");
    if (kind == Kind::kDict && items.size() % 2 != 0) refuse_pickle(state_, "a key of a dict has no value");
    container.value.items.insert(container.value.items.end(), items.begin(), items.end());
  }
  void remember(uint64_t place) { memo_[place] = top(); }
  void recall(uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) refuse_pickle(state_, "it recalls what it never kept");
    stack_.push_back(found->second);
  }

  // instructions
  void protocol() {
    const auto version = number<uint8_t>();
    if (version < 2 || version > 5) refuse_pickle(state_, "it is of protocol " + std::to_string(version));
  }
  void frame() { number<uint64_t>(); }
  void mark() {
    if (marks_.size() >= kMostOpenContainers) refuse_pickle(state_, "it is nested too deeply");
    marks_.push_back(stack_.size());
  }
  void none() { push_value(Kind::kNone); }
  void truth() { push_integer(1, Kind::kBool); }
  void falsehood() { push_integer(0, Kind::kBool); }
  void integer4() { push_integer(number<int32_t>()); }
  void integer2() { push_integer(number<uint16_t>()); }
  void integer1() { push_integer(number<uint8_t>()); }
  void long_integer() {
    const std::string_view bytes = take(number<uint8_t>());
    if (bytes.size() > sizeof(int64_t)) refuse_pickle(state_, "it has a whole number of more than 64 bits");
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    const unsigned spare = 64 - 8 * static_cast<unsigned>(bytes.size());
    push_integer(bytes.empty() ? 0 : static_cast<int64_t>(value << spare) >> spare);
  }
  void floating() {
    PickleItem item = plain(Kind::kFloat);
    item.value.number = std::bit_cast<double>(__builtin_bswap64(number<uint64_t>()));
    push(std::move(item));
  }
  void text1() { push_text(Kind::kText, number<uint8_t>()); }
  void text4() { push_text(Kind::kText, number<uint32_t>()); }
  void text8() { push_text(Kind::kText, number<uint64_t>()); }
  void bytes1() { push_text(Kind::kBytes, number<uint8_t>()); }
  void bytes4() { push_text(Kind::kBytes, number<uint32_t>()); }
  void bytes8() { push_text(Kind::kBytes, number<uint64_t>()); }
  void empty_list() { push_value(Kind::kList); }
  void empty_tuple() { push_value(Kind::kTuple); }
  void empty_dict() { push_value(Kind::kDict); }
  void tuple1() { push_tuple_of(1); }
  void tuple2() { push_tuple_of(2); }
  void tuple3() { push_tuple_of(3); }
  void tuple() { push_tuple(pop_to_mark()); }
  void append() {
    const uint32_t item = pop();
    add_to(Kind::kList, {item});
  }
  void appends() {
    const std::vector<uint32_t> items = pop_to_mark();
    add_to(Kind::kList, items);
  }
  void set_item() {
    const uint32_t value = pop(), key = pop();
    add_to(Kind::kDict, {key, value});
  }
  void set_items() {
    const std::vector<uint32_t> items = pop_to_mark();
    add_to(Kind::kDict, items);
  }
  void put1() { remember(number<uint8_t>()); }
  void put4() { remember(number<uint32_t>()); }
  void memoize() { remember(memo_.size()); }
  void get1() { recall(number<uint8_t>()); }
  void get4() { recall(number<uint32_t>()); }
  void global() {
    const std::string module = line();
    push(pickle_global(state_, module + '.' + line()));
  }
  void stack_global() {
    const uint32_t name = pop(), module = pop();
    push(pickle_global(state_, text_at(module) + '.' + text_at(name)));
  }
  void reduce() {
    const uint32_t arguments = pop(), function = pop();
    stack_.push_back(call_pickled(state_, function, arguments));
  }
  void new_object() {
    const uint32_t arguments = pop(), type = pop();
    stack_.push_back(make_record(state_, type, arguments));
  }
  void build() {
    const uint32_t argument = pop();
    build_pickled(state_, top(), argument);
  }
  void persistent() { push(pickle_storage(state_, pop(), storages_)); }

  const std::string& text_at(uint32_t position) {
    const PickleItem& item = state_.items[position];
    if (item.kind != ItemKind::kValue || item.value.kind != Kind::kText)
      refuse_pickle(state_, "a name is no text");
    return item.value.text;
  }

  std::string_view rest_;
  const StorageFinder& storages_;
  PickleState state_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::unordered_map<uint64_t, uint32_t> memo_;
};

constexpr unsigned char kStop = '.';

const std::array<Machine::Known, 39> Machine::kKnown{{
    {0x80, &Machine::protocol},     {0x95, &Machine::frame},        {'(', &Machine::mark},
    {'N', &Machine::none},          {0x88, &Machine::truth},        {0x89, &Machine::falsehood},
    {'J', &Machine::integer4},      {'M', &Machine::integer2},      {'K', &Machine::integer1},
    {0x8a, &Machine::long_integer}, {'G', &Machine::floating},      {0x8c, &Machine::text1},
    {'X', &Machine::text4},         {0x8d, &Machine::text8},        {'C', &Machine::bytes1},
    {'B', &Machine::bytes4},        {0x8e, &Machine::bytes8},       {']', &Machine::empty_list},
    {')', &Machine::empty_tuple},   {'}', &Machine::empty_dict},    {0x85, &Machine::tuple1},
    {0x86, &Machine::tuple2},       {0x87, &Machine::tuple3},       {'t', &Machine::tuple},
    {'a', &Machine::append},        {'e', &Machine::appends},       {'s', &Machine::set_item},
    {'u', &Machine::set_items},     {'q', &Machine::put1},          {'r', &Machine::put4},
    {0x94, &Machine::memoize},      {'h', &Machine::get1},          {'j', &Machine::get4},
    {'c', &Machine::global},        {0x93, &Machine::stack_global}, {'R', &Machine::reduce},
    {'b', &Machine::build},         {'Q', &Machine::persistent},    {0x81, &Machine::new_object},
}};

void Machine::step(unsigned char code) {
  for (const Known& known : kKnown) {
    if (known.code == code) return (this->*known.run)();
  }
  char text[8];
  std::snprintf(text, sizeof text, "0x%02x", code);
  refuse_pickle(state_, std::string("it has the instruction ") + text + ", which builds no plain value");
}

PickledDocument Machine::run() {
  while (true) {
    const auto code = number<uint8_t>();
    if (code == kStop) return document();
    step(code);
  }
}

PickledDocument Machine::document() {
  PickledDocument result;
  result.root = pop();
  if (!stack_.empty() || !marks_.empty()) refuse_pickle(state_, "it ends with more than one value");
  if (state_.items[result.root].kind != ItemKind::kValue) refuse_pickle(state_, "it ends with no value");
  result.values.reserve(state_.items.size());
  // Functions and storages keep their places and stand for nothing; the type of a record for itself.
  for (PickleItem& item : state_.items) {
    if (is_record_type(state_, item)) {
      item.value.kind = Kind::kRecord;
      item.value.text = item.name;
    }
    result.values.push_back(std::move(item.value));
  }
  result.origin = state_.origin;
  result.tensors = std::move(state_.tensors);
  return result;
}

}  // namespace

const char* kind_name(PickledValue::Kind kind) {
  switch (kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return "a bool";
    case Kind::kInteger:
      return "a whole number";
    case Kind::kFloat:
      return "a number";
    case Kind::kText:
      return "a text";
    case Kind::kBytes:
      return "bytes";
    case Kind::kList:
      return "a list";
    case Kind::kTuple:
      return "a tuple";
    case Kind::kDict:
      return "a dict";
    case Kind::kTensor:
      return "a tensor";
    case Kind::kRecord:
      return "an object";
  }
  return "";
}

PickledDocument read_pickle(std::string_view bytes, const std::string& origin, const StorageFinder& storages,
                            RecordNames records) {
  if (bytes.size() > kMostPickleBytes) {
    PickleState state;
    state.origin = origin;
    refuse_pickle(state, "it is larger than any of that kind");
  }
  return Machine(bytes, origin, storages, records).run();
}

}  // namespace hftrain::interchange
