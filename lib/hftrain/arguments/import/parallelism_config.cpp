#include "hftrain/arguments/import/parallelism_config.h"

#include <algorithm>
#include <array>

#include "hftrain/arguments/import/fsdp.h"
#include "hftrain/arguments/section.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr std::string_view kParallelismPrefix = "parallelism_config_";
constexpr std::array kRefused = {"tp_size", "cp_size", "sp_size"};

struct Sizes {
  Sourced<int64_t> replicate, shard;
};

class ParallelismReader {
 public:
  ParallelismReader(ParseOutcome& outcome, Diagnostics& problems) : outcome_(outcome), problems_(problems) {}

  Sizes read() {
    if (const std::optional<Section> section = section_of("parallelism_config", outcome_, problems_)) {
      for (const auto& [name, value] : section->values.items()) {
        if (name.starts_with('_')) continue;
        const std::string key =
            name.starts_with(kParallelismPrefix) ? name.substr(kParallelismPrefix.size()) : name;
        read_key(key, value, "parallelism_config: " + name, section->place('/' + name));
      }
    }
    for (const char* key : {"dp_replicate_size", "dp_shard_size"}) {
      const std::string flag = std::string(kParallelismPrefix) + key;
      const auto raw = outcome_.unread.find(flag);
      if (raw == outcome_.unread.end()) continue;
      if (used()) {
        read_key(key, raw->second, flag, outcome_.origins.of(flag));
      } else if (raw->second != 1) {
        unused_.push_back(outcome_.origins.describe(flag));
      }
    }
    say_unused();
    return sizes_;
  }

 private:
  void say_unused() {
    if (used() && !sizes_.replicate && !sizes_.shard)
      note(Diagnostic::Severity::kNote, "use_parallelism_config has no effect",
           {outcome_.origins.describe("use_parallelism_config")}, "none of its sizes was given",
           "--parallelism_config_dp_replicate_size N");
    if (!idle_.empty())
      note(Diagnostic::Severity::kNote, "keys of parallelism_config have no effect here", idle_,
           "tp_size, cp_size and sp_size are 1", "leave them out");
    if (!unused_.empty())
      note(Diagnostic::Severity::kWarning,
           "sizes of a parallelism_config have no effect without --use_parallelism_config", unused_, "",
           "--use_parallelism_config");
  }

  void note(Diagnostic::Severity severity, std::string what, const std::vector<std::string>& places,
            std::string why, std::string hint) {
    outcome_.notes.push_back({.severity = severity,
                              .what = std::move(what),
                              .where = join(places, ", "),
                              .why = std::move(why),
                              .hint = std::move(hint)});
  }

  bool used() const {
    const auto found = outcome_.unread.find("use_parallelism_config");
    return found != outcome_.unread.end() && found->second == true;
  }

  void read_key(const std::string& key, const Json& written, const std::string& name,
                const std::string& origin) {
    if (written.is_null()) return;
    if (key.ends_with("_backend") || key == "tp_handler" || key == "cp_handler" || key == "sp_handler")
      return idle_.push_back(key + " (" + place(origin) + ')');
    const bool ours = key == "dp_replicate_size" || key == "dp_shard_size";
    const bool refused = std::find(kRefused.begin(), kRefused.end(), key) != kRefused.end();
    if (!ours && !refused) {
      const std::vector<std::string> known = {"dp_replicate_size", "dp_shard_size", "tp_size", "cp_size",
                                              "sp_size"};
      std::string hint = did_you_mean(nearest_names(key, known));
      return problem("parallelism_config: unknown key '" + key + '\'', origin,
                     "accelerate has no such key there",
                     hint.empty() ? "the keys are " + join(known, ", ") : hint);
    }
    const Key size{.name = "value", .type = Type::kInt, .range = at_least(1)};
    const Result<Json> value = convert_mapping({&size, 1}, {{"value", written}});
    if (std::holds_alternative<ValueError>(value))
      return problem(name + ": " + to_yaml(written) + " is not a whole number >= 1", origin,
                     "it is a number of ranks", "1 or more");
    const auto number = std::get<Json>(value)["value"].get<int64_t>();
    if (ours)
      return assign(key == "dp_shard_size" ? sizes_.shard : sizes_.replicate, number, origin, key, problems_);
    if (number > 1)
      problem(name + " above 1 is not supported", origin, "there is no such parallelism here", "1");
  }

  void problem(std::string what, const std::string& origin, std::string why, std::string hint) {
    problems_.push_back(
        {.what = std::move(what), .where = place(origin), .why = std::move(why), .hint = std::move(hint)});
  }

  ParseOutcome& outcome_;
  Diagnostics& problems_;
  std::vector<std::string> unused_;  // flags and where they are
  std::vector<std::string> idle_;    // keys and where they are
  Sizes sizes_;
};

}  // namespace

void import_parallelism_config(const Environment& environment, std::optional<int64_t> fsdp_version,
                               ParseOutcome& outcome, Diagnostics& problems) {
  const Sizes sizes = ParallelismReader(outcome, problems).read();
  if (!sizes.replicate && !sizes.shard) return;
  ParallelOptions& sharding = outcome.arguments.parallel.sharding;
  const Sourced<int64_t>& first = sizes.replicate ? sizes.replicate : sizes.shard;
  constexpr int64_t kDefaultVersion = 1;  // of accelerate launch
  if (launches_fsdp(environment, outcome) && fsdp_version.value_or(kDefaultVersion) != 2) {
    problems.push_back({.what = "parallelism_config needs fsdp_version 2",
                        .where = place(first.origin),
                        .why = "accelerate launch has it in version 2 only",
                        .hint = "--fsdp_version 2"});
    return;
  }
  if (!asks_for_fsdp(environment, outcome) && sizes.shard.value_or(1) > 1) {
    problems.push_back({.what = "dp_shard_size above 1 needs --fsdp or --use_fsdp",
                        .where = place(sizes.shard.origin),
                        .why = "nothing else is sharded along it",
                        .hint = "--fsdp true"});
    return;
  }
  if (!asks_for_fsdp(environment, outcome) && sizes.replicate.value_or(1) > 1 &&
      sharding.strategy.value_or("none") != "none") {
    problems.push_back(
        {.what = "dp_replicate_size above 1 needs --fsdp or --use_fsdp",
         .where = place(sizes.replicate.origin),
         .why = "strategy " + *sharding.strategy + " (" + sharding.strategy.origin + ") has no replicas",
         .hint = "--fsdp true in its place, or leave dp_replicate_size out"});
    return;
  }
  if (sizes.replicate)
    assign(sharding.replicate_ranks, *sizes.replicate, sizes.replicate.origin, "dp_replicate_size", problems);
  if (sizes.shard) assign(sharding.shard_ranks, *sizes.shard, sizes.shard.origin, "dp_shard_size", problems);
  if (!sharding.strategy || sizes.replicate.value_or(1) == 1) return;
  if (*sharding.strategy == "full_shard") sharding.strategy = {"hybrid_shard", first.origin};
  if (*sharding.strategy == "shard_grad_op") sharding.strategy = {"hybrid_shard_zero2", first.origin};
}

}  // namespace hftrain::arguments
