#include "hftrain/arguments/flag_table.h"

#include <map>
#include <set>

#include "hftrain/arguments/release_history.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/json.h"
#include "support.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::arguments {
namespace {

Json golden_flags() {
  return read_json_file(testing::source_dir() + "/tests/golden/arguments/flags.json");
}

// Where this build differs from the contract on purpose.
const std::set<std::string> kOtherStatus = {
    // accepted: the only behaviour there is
    "dataloader_in_order",
    // no other column is read, and tokenizers that know languages are refused
    "remove_unused_columns", "lang",
    // nothing that it could act on
    "ddp_broadcast_buffers",
    // the contract accepts it without effect; it reaches ssh here
    "launcher_args",
    // one of the two values is refused
    "use_fast_tokenizer", "save_safetensors"};
// Unset means one rank per device here, not 1; and what the task does, which the contract says in a note.
const std::set<std::string> kOtherDefault = {"nproc_per_node", "pad_to_max_length"};

std::string type_in_contract(const Flag& flag) {
  switch (flag.slot.type) {
    case Type::kBool:
      return "bool";
    case Type::kInt:
      return "int";
    case Type::kFloat:
      return "float";
    case Type::kMapping:
      return "dict-or-json";
    case Type::kList:
      return "list";
    case Type::kText:
      break;
  }
  return flag.path ? "path" : "str";
}

// Defaults that mean the same: nothing in a list, numbers of either type, numbers as words.
Json comparable(const Json& value, const Flag& flag) {
  const bool nothing = value.is_null() || value == "" || value == "none" || value == "None";
  if (flag.slot.type == Type::kList) return nothing ? Json::array() : value;
  if (flag.slot.optional && (value == "" || value == "None")) return nullptr;
  if (value.is_number()) return value.get<double>();
  return value;
}

const char* status_in_contract(Support::Status status) {
  return status == Support::kAccepted ? "accept" : status == Support::kRefused ? "refuse" : "implement";
}

}  // namespace

TEST_CASE("every flag of the contract is in the table, and no other without saying so") {
  const Json golden = golden_flags();
  CHECK(golden.size() == 361);
  for (const auto& [name, unused] : golden.items()) {
    INFO(name);
    const FlagMatch match = flag_table().find(name);
    REQUIRE(match);
    CHECK(match.flag->name == name);
    CHECK_FALSE(match.flag->ours);
  }
  for (const Flag* flag : flag_table().flags()) {
    INFO(flag->name);
    CHECK(flag->ours == !golden.contains(std::string(flag->name)));
  }
}

TEST_CASE("types and defaults are those of the contract") {
  const Json golden = golden_flags();
  for (const auto& [name, expected] : golden.items()) {
    INFO(name);
    const Flag& flag = flag_table().named(name);
    const std::string type = expected["type"];
    CHECK(type_in_contract(flag) == (type == "enum" ? "str" : type));
    if (kOtherDefault.count(name) == 0) {
      CHECK(comparable(flag.default_value(), flag) == comparable(expected["default"], flag));
    }
    if (expected["optional"] == true && flag.slot.type != Type::kList) CHECK(flag.slot.optional);
  }
}

TEST_CASE("choices and their status are those of the contract, planned aside") {
  const Json golden = golden_flags();
  for (const auto& [name, expected] : golden.items()) {
    if (!expected.contains("choices")) continue;
    INFO(name);
    const Flag& flag = flag_table().named(name);
    std::map<std::string, std::string> words;
    for (const Choice& choice : flag.choices)
      words[std::string(choice.word)] = status_in_contract(choice.support.status);
    for (const auto& [word, status] : expected["choices"].items()) {
      INFO(word);
      REQUIRE(words.count(word) == 1);
      const bool whole_flag = flag.support.status != Support::kImplemented;
      static const std::set<std::string> kSaidInANote = {"ddp_backend", "debug", "rdzv_backend", "launcher",
                                                         "deepspeed_multinode_launcher"};
      if (!whole_flag && kSaidInANote.count(name) == 0) CHECK(words[word] == status);
    }
    // Said in the contract's tables: truth values, and the name that the documentation of FairScale has.
    for (const char* spelling : {"true", "false", "cpu_offload"}) words.erase(spelling);
    // Those of DeepSpeed files.
    for (const char* word :
         {"WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "LRRangeTest", "OneCycle", "adam"})
      words.erase(word);
    // Ours alone.
    if (name == "ddp_backend") words.erase("shm");
    if (name == "report_to") words.erase("prometheus");
    CHECK(words.size() == expected["choices"].size());
  }
}

TEST_CASE("every flag of the contract has its history, in the releases of the contract") {
  Json golden = golden_flags();
  for (const FlagHistory& row : flag_histories()) {
    const std::string name(row.flag);
    INFO(name);
    REQUIRE(golden.contains(name));
    const Json releases = golden[name].value("releases", Json::array({kOldestLookedAt, kNewestLookedAt}));
    CHECK(releases[0] == (row.first.empty() ? kOldestLookedAt : row.first));
    CHECK(releases[1] == (row.last.empty() ? kNewestLookedAt : row.last));
    Json older = Json::array();
    for (const OlderDefault& entry : row.older) older.push_back(entry.last);
    CHECK(older == golden[name].value("older_defaults", Json::array()));
    const bool of_a_class =
        row.origin == Origin::kTrainer || row.origin == Origin::kSeq2Seq || row.origin == Origin::kTensorFlow;
    CHECK(of_a_class == golden[name].contains("releases"));
    golden.erase(name);
  }
  CHECK(golden.empty());
}

TEST_CASE("the status of a flag is never wider than the contract's") {
  const Json golden = golden_flags();
  for (const auto& [name, expected] : golden.items()) {
    INFO(name);
    if (kOtherStatus.count(name) > 0) continue;
    CHECK(status_in_contract(flag_table().named(name).support.status) ==
          (flag_table().named(name).replaced_by.flag.empty() ? expected["status"].get<std::string>()
                                                             : std::string("implement")));
  }
}

TEST_CASE("aliases, short names, negative flags, units and patterns are those of the contract") {
  const Json golden = golden_flags();
  for (const auto& [name, expected] : golden.items()) {
    INFO(name);
    const Flag& flag = flag_table().named(name);
    for (const auto& alias : expected.value("aliases", Json::array()))
      CHECK(flag_table().find(alias.get<std::string>()).flag == &flag);
    for (const auto& letter : expected.value("short", Json::array()))
      CHECK(flag_table().find_letter(letter.get<std::string>()[1]) == &flag);
    CHECK(flag.negatable == expected.contains("negative_flag"));
    CHECK(std::string(flag.unit) == expected.value("unit", ""));
    CHECK(flag.pattern == expected.value("pattern", false));
    const Json constraints = expected.value("constraints", Json::array());
    const bool by_rule = name == "logging_steps";
    if (!constraints.empty() && !by_rule) CHECK(flag.range.limits());
  }
}

TEST_CASE("every default satisfies its own constraints and choices") {
  for (const Flag* flag : flag_table().flags()) {
    INFO(flag->name);
    const Json value = flag->default_value();
    if (value.is_null() || value == "" || (value.is_string() && flag->path)) continue;
    const Result<Json> converted = convert(*flag, value, "");
    REQUIRE(std::holds_alternative<Json>(converted));
    CHECK(std::get<Json>(converted) == value);
  }
}

TEST_CASE("a row is either read by something, replaced by another, or says why not") {
  for (const Flag* flag : flag_table().flags()) {
    INFO(flag->name);
    const bool member = flag->slot.get != nullptr;
    const bool replaced = !flag->replaced_by.flag.empty();
    if (flag->command_line_only) continue;
    CHECK((member || replaced || flag->imported || flag->support.status != Support::kImplemented));
    if (member) CHECK(flag->support.status == Support::kImplemented);
    if (replaced) CHECK(flag_table().find(flag->replaced_by.flag).flag->replaced_by.flag.empty());
    CHECK_FALSE(flag->help.empty());
    if (flag->support.status != Support::kImplemented) CHECK_FALSE(flag->support.reason.empty());
  }
}

TEST_CASE("names are found with dashes and underscores, aliases and negative forms") {
  CHECK(flag_table().find("warmup-steps").flag->name == "warmup_steps");
  CHECK(flag_table().find("lr_scheduler").flag->name == "lr_scheduler_type");
  const FlagMatch negative = flag_table().find("no-dataloader-pin-memory");
  REQUIRE(negative);
  CHECK(negative.negated);
  CHECK(flag_table().find("no_cuda").flag->name == "no_cuda");
  CHECK_FALSE(flag_table().find("no_cuda").negated);
  CHECK(flag_table().find("fp8_margin").flag->name == "fp8_*");
  CHECK_FALSE(flag_table().find("fp8_"));
  CHECK_FALSE(flag_table().find("learning"));
  CHECK_FALSE(flag_table().find(""));
}

TEST_CASE("two rows with one spelling are refused") {
  CHECK_THROWS_AS(FlagTable({{"a", "A", {{.name = "x_y"}, {.name = "z", .aliases = {"x-y"}}}}}),
                  std::logic_error);
}

TEST_CASE("whatever this build does not do has a reason") {
  const auto has_reason = [](const Support& support) {
    return support.status == Support::kImplemented || !support.reason.empty();
  };
  for (const Flag* flag : flag_table().flags()) {
    INFO(flag->name);
    CHECK(has_reason(flag->support));
    for (const Choice& choice : flag->choices) CHECK(has_reason(choice.support));
    for (const Key& key : flag->keys) {
      CHECK(has_reason(key.support));
      for (const Key& inner : key.keys) CHECK(has_reason(inner.support));
    }
  }
}

}  // namespace hftrain::arguments
