#include "hftrain/arguments/import/sharded_ddp.h"

#include <algorithm>

namespace hftrain::arguments {
namespace {

struct ShardedDdpWord {
  const char* word;
  const char* strategy;
};
constexpr ShardedDdpWord kShardedDdpStrategies[] = {
    {"simple", "zero1"}, {"true", "zero1"}, {"zero_dp_2", "shard_grad_op"}, {"zero_dp_3", "full_shard"}};

std::vector<std::string> given_words(const ParseOutcome& outcome) {
  const auto given = outcome.unread.find("sharded_ddp");
  std::vector<std::string> words;
  if (given != outcome.unread.end() && given->second.is_array()) words = given->second;
  if (words == std::vector<std::string>{"false"}) words.clear();
  return words;
}

// FairScale made one unit per layer only when told.
bool wraps(const std::vector<std::string>& words) {
  return std::ranges::find(words, "auto_wrap") != words.end();
}

std::string in_todays_words(const std::vector<std::string>& words, const std::string& strategy) {
  if (strategy == "zero1") return R"(--deepspeed '{"zero_optimization": {"stage": 1}}')";
  std::string today = strategy;
  for (const std::string& word : words) {
    if (word.ends_with("offload")) today += " offload";
    if (word == "auto_wrap") today += " auto_wrap";  // which says something beside hf_compat alone
  }
  if (today != strategy) today = '"' + today + '"';
  return "--fsdp " + today + (wraps(words) ? "" : R"( --fsdp_config '{"auto_wrap_policy": "NO_WRAP"}')");
}

}  // namespace

bool asks_for_sharded_ddp(const ParseOutcome& outcome) {
  return !given_words(outcome).empty();
}

void import_sharded_ddp(ParseOutcome& outcome, Diagnostics& problems) {
  const std::vector<std::string> words = given_words(outcome);
  if (words.empty()) return;
  const std::string& origin = outcome.origins.of("sharded_ddp");
  const auto has = [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const auto refuse = [&](const char* what, const char* why, const char* hint) {
    problems.push_back({.what = what, .where = place(origin), .why = why, .hint = hint});
  };
  std::vector<const char*> strategies;
  for (const ShardedDdpWord& each : kShardedDdpStrategies) {
    if (has(each.word)) strategies.push_back(each.strategy);
  }
  if (strategies.empty()) {
    return refuse("sharded_ddp: offload and auto_wrap need a word that shards",
                  "they say how, not what is sharded",
                  "--sharded_ddp \"zero_dp_2 offload\" or \"zero_dp_3 offload\"");
  }
  const bool simple = has("simple") || has("true");
  if (simple && words.size() > 1) {
    return refuse("sharded_ddp: simple stands alone", "it shards the optimizer state and nothing else",
                  "zero_dp_2 or zero_dp_3 with the other words");
  }
  if (strategies.size() > 1)
    return refuse("sharded_ddp: zero_dp_2 and zero_dp_3 exclude each other",
                  "parameters are whole on every rank, or in parts", "keep one of them");
  ParallelOptions& sharding = outcome.arguments.parallel.sharding;
  assign(sharding.strategy, std::string(strategies.front()), origin, "the strategy", problems);
  // The optimizer's state has no units of its own.
  assign(sharding.wrap_policy, std::string(simple || wraps(words) ? "transformer" : "none"), origin,
         "the units", problems);
  if (has("offload") || has("cpu_offload")) {
    assign(sharding.offload_parameters, std::string("cpu"), origin, "offload of parameters", problems);
    assign(sharding.offload_optimizer, std::string("cpu"), origin, "offload of the optimizer", problems);
  }
  outcome.notes.push_back({.severity = Diagnostic::Severity::kWarning,
                           .what = "sharded_ddp is an old option",
                           .where = place(origin),
                           .why = "transformers dropped it with 4.35; it works here",
                           .hint = "use " + in_todays_words(words, strategies.front())});
}

}  // namespace hftrain::arguments
