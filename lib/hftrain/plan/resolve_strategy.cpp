// From what the formats ask for to the strategy of this run: stage, mesh, units, offload.
#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <regex>

#include "hftrain/arguments/smoke_variable.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/plan/smoke_ranks.h"
#include "hftrain/plan/units.h"

namespace hftrain::plan {
namespace {

using arguments::ParallelOptions;
using arguments::Sourced;

// What the names of ParallelOptions mean. Without sharding the run is DDP, or one rank.
struct Kind {
  const char* asked;
  const char* name;
  int stage;
  bool hybrid;
};
constexpr std::array kKinds = {Kind{"none", "ddp", 0, false},
                               Kind{"no_shard", "ddp", 0, false},
                               Kind{"zero1", "zero1", 1, false},
                               Kind{"shard_grad_op", "shard_grad_op", 2, false},
                               Kind{"full_shard", "full_shard", 3, false},
                               Kind{"hybrid_shard", "hybrid_shard", 3, true},
                               Kind{"hybrid_shard_zero2", "hybrid_shard_zero2", 2, true}};

const Kind& kind_of(const std::string& asked) {
  const auto* found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return asked == kind.asked; });
  if (found == kKinds.end()) throw Error(ExitCode::kInternal, "no strategy is called " + asked);
  return *found;
}

class Resolution {
 public:
  Resolution(const ResolveInput& input, const RanksPlan& ranks, Problems& problems)
      : input_(input),
        asked_(input.parsed.arguments.parallel.sharding),
        ranks_(ranks),
        problems_(problems),
        kind_(kind_of(asked_.strategy.value_or("none"))) {}

  StrategyPlan run() {
    plan_.name = kind_.stage == 0 && ranks_.world_size == 1 ? "single" : kind_.name;
    plan_.stage = kind_.stage;
    mesh();
    units();
    ddp();
    offload();
    plan_.backward_prefetch = asked_.backward_prefetch.value_or(plan_.backward_prefetch);
    // A GPU gathers the next unit, or fetches it from the host, while it computes this one (in stages 1 and 2 behind an update, into
    // memory that is there anyway); ranks of a CPU would only compute later.
    const bool on_gpus = ranks_.ranks.front().device == DeviceKind::kCuda;
    plan_.limit_all_gathers = asked_.limit_all_gathers.value_or(plan_.limit_all_gathers);
    plan_.forward_prefetch =
        asked_.forward_prefetch.value_or(plan_.stage > 0 && on_gpus && plan_.limit_all_gathers);
    plan_.reduce_dtype = asked_.reduce_dtype.value_or(plan_.reduce_dtype);
    plan_.state_dict = asked_.state_dict.value_or(plan_.state_dict);
    plan_.full_parameter_limit = full_parameter_limit();
    if (kind_.stage > 0 && asked_.ignored_modules) ignore();
    check_optimizer();
    return plan_;
  }

 private:
  int64_t full_parameter_limit() const {
    const auto& deepspeed = input_.parsed.arguments.parallel.deepspeed;
    if (deepspeed && deepspeed->full_parameter_limit_by_hidden_size)
      return 10 * input_.model.architecture->hidden_size();
    return asked_.full_parameter_limit.value_or(plan_.full_parameter_limit);
  }

  // As accelerate: a module whose whole name matches, and with it what lies below it.
  void ignore() {
    std::regex pattern;
    try {
      pattern = std::regex(*asked_.ignored_modules, std::regex::ECMAScript);
    } catch (const std::regex_error& error) {
      return problems_.usage("ignored_modules is not a regular expression",
                             where(asked_.ignored_modules.origin), error.what(),
                             "a pattern for whole names of modules, as .*\\.mlp");
    }
    const auto architecture = running_architecture(input_);
    const architectures::ParameterTable& table = architecture->parameters();
    for (const architectures::ParameterSpec& parameter : table.parameters) {
      const bool by_alias = std::ranges::any_of(table.tied, [&](const architectures::TiedParameter& tied) {
        return tied.parameter == parameter.name && lies_in(tied.alias, pattern);
      });
      if (by_alias || lies_in(parameter.name, pattern)) plan_.ignored.push_back(parameter.name);
    }
    std::sort(plan_.ignored.begin(), plan_.ignored.end());
    if (plan_.ignored.empty()) {
      problems_.usage("no module's name matches ignored_modules", where(asked_.ignored_modules.origin),
                      *asked_.ignored_modules + " is compared with whole names, such as " +
                          module_of(table.parameters.back().name),
                      "a pattern for whole names of modules, or leave it out");
    }
  }

  static bool lies_in(const std::string& parameter, const std::regex& modules) {
    for (size_t dot = parameter.find('.'); dot != std::string::npos; dot = parameter.find('.', dot + 1)) {
      if (std::regex_match(parameter.substr(0, dot), modules)) return true;
    }
    return false;
  }

  static std::string module_of(const std::string& parameter) {
    return parameter.substr(0, parameter.rfind('.'));
  }

  // Of a node as the user asked for them: what one front program starts, also where several of these share a machine.
  int64_t ranks_of_node() const {
    const bool assigned = std::ranges::any_of(
        input_.agents, [](const AgentFacts& agent) { return agent.assigned.has_value(); });
    if (input_.agents.empty() || assigned) return ranks_.local_world_size;
    std::map<int, int64_t> started;
    for (const RankPlan& rank : ranks_.ranks) ++started[rank.agent];
    return std::ranges::max(started | std::views::values);
  }

  // Hybrid strategies shard inside a node unless a size is given; all others over all ranks.
  void mesh() {
    const int64_t world = ranks_.world_size;
    const bool shards = kind_.stage > 0;
    int64_t shard = shards ? world : 1;
    if (kind_.hybrid) {
      shard = ranks_of_node();
      if (asked_.replicate_ranks) shard = std::max<int64_t>(1, world / *asked_.replicate_ranks);
    }
    if (!shards && asked_.shard_ranks.value_or(1) > 1) return refuse_shards();
    if (asked_.shard_ranks) shard = *asked_.shard_ranks;
    int64_t replicate = asked_.replicate_ranks.value_or(std::max<int64_t>(1, world / shard));
    const bool has_groups = kind_.hybrid || !shards || replicate == 1;
    if (replicate * shard > world && has_groups && arguments::is_of_smoke(input_.environment)) {
      const MeshSizes sizes = smaller_mesh(asked_.replicate_ranks, asked_.shard_ranks, world);
      replicate = shards ? sizes.replicate : world;
      shard = shards ? sizes.shard : 1;
    }
    if (replicate * shard != world) return refuse_mesh(replicate, shard);
    if (!kind_.hybrid && shards && replicate > 1) {
      return problems_.usage(
          "the shard groups of " + plan_.name + " are all ranks",
          where(asked_.shard_ranks ? asked_.shard_ranks.origin : asked_.replicate_ranks.origin),
          std::to_string(replicate) + " groups of " + std::to_string(shard) + " were asked for",
          "hybrid_shard or hybrid_shard_zero2 for groups with replicas");
    }
    plan_.mesh_replicate = static_cast<int>(replicate);
    plan_.mesh_shard = static_cast<int>(shard);
  }

  void refuse_shards() {
    problems_.usage(std::to_string(*asked_.shard_ranks) + " ranks that share a model are asked for",
                    where(asked_.shard_ranks.origin), plan_.name + " cuts nothing along them",
                    "a strategy that shards (full_shard), or leave the size out");
  }

  void refuse_mesh(int64_t replicate, int64_t shard) {
    std::vector<std::string> places;
    if (asked_.replicate_ranks) places.push_back(where(asked_.replicate_ranks.origin));
    if (asked_.shard_ranks) places.push_back(where(asked_.shard_ranks.origin));
    problems_.usage("the mesh does not cover the ranks", join(places, ", "),
                    std::to_string(replicate) + " replicas of " + std::to_string(shard) + " ranks are " +
                        std::to_string(replicate * shard) + ", and the run has " +
                        std::to_string(ranks_.world_size) + " ranks",
                    "sizes whose product is the number of ranks, or --nproc_per_node " +
                        std::to_string(replicate * shard));
  }

  void units() {
    UnitRequest request;
    request.reshard = kind_.stage == 3;
    const std::string policy = kind_.stage == 0 ? "transformer" : asked_.wrap_policy.value_or("transformer");
    request.policy = policy == "none"   ? WrapPolicy::kNone
                     : policy == "size" ? WrapPolicy::kSize
                                        : WrapPolicy::kTransformer;
    request.min_parameters = asked_.min_parameters.value_or(0);
    const auto architecture = running_architecture(input_);
    if (policy == "transformer") check_classes(*architecture);
    plan_.units = make_units(architecture->parameters(), request);
  }

  // Rule F9.
  void check_classes(const architectures::Architecture& architecture) {
    if (!asked_.layer_classes || kind_.stage == 0) return;
    const std::vector<std::string> known = architecture.layer_class_names();
    for (const std::string& name : *asked_.layer_classes) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      problems_.usage("the model has no layer class '" + name + '\'', where(asked_.layer_classes.origin),
                      architecture.model_type() + " has " + join(known, ", "),
                      "leave the names out to use the model's own");
    }
  }

  void ddp() {
    const arguments::ParallelArguments& parallel = input_.parsed.arguments.parallel;
    plan_.static_graph = parallel.ddp_static_graph;
    plan_.find_unused_parameters = parallel.ddp_find_unused_parameters.value_or(
        plan_.static_graph.value_or(false) || !recomputes_activations(input_.parsed.arguments));
    plan_.bucket_cap_mb = parallel.ddp_bucket_cap_mb.value_or(plan_.bucket_cap_mb);
  }

  void offload() {
    plan_.offload_parameters = asked_.offload_parameters.value_or("none");
    plan_.offload_optimizer = asked_.offload_optimizer.value_or("none");
    const Sourced<std::string>& first =
        plan_.offload_parameters != "none" ? asked_.offload_parameters : asked_.offload_optimizer;
    const bool offloads = plan_.offload_parameters != "none" || plan_.offload_optimizer != "none";
    if (offloads && kind_.stage == 0) {
      problems_.usage("offload needs a strategy that shards", where(first.origin),
                      "DDP keeps everything on every rank",
                      "full_shard, shard_grad_op or zero1 with offload");
    }
    if (plan_.offload_parameters == "nvme" && kind_.stage != 3) {
      problems_.usage("parameters on NVMe need full sharding", where(asked_.offload_parameters.origin),
                      plan_.name + " keeps all parameters in memory", "stage 3 (full_shard)");
    }
    nvme();
  }

  void nvme() {
    NvmePlan& nvme = plan_.nvme;
    const bool used = plan_.offload_parameters == "nvme" || plan_.offload_optimizer == "nvme";
    if (used && input_.parsed.arguments.saving.async_save) {
      problems_.usage("state on NVMe cannot be saved in the background",
                      input_.parsed.origins.describe("async_save"),
                      "training changes the files, so a save needs a copy first: in host memory, which the "
                      "state is on NVMe to spare, or on the disk, which takes as long as the save",
                      "leave --async_save out");
    }
    if (plan_.offload_parameters == "nvme")
      nvme.parameters_path = path(asked_.parameters_path, asked_.offload_parameters, "parameters");
    if (plan_.offload_optimizer == "nvme")
      nvme.optimizer_path = path(asked_.optimizer_path, asked_.offload_optimizer, "the optimizer");
    nvme.block_bytes = asked_.block_bytes.value_or(nvme.block_bytes);
    nvme.queue_depth = asked_.queue_depth.value_or(nvme.queue_depth);
    if (asked_.buffer_numbers) nvme.buffer_bytes = *asked_.buffer_numbers * bytes_of("float32");
    nvme.buffer_count = asked_.buffer_count.value_or(nvme.buffer_count);
    nvme.pipeline_read = asked_.pipeline_read.value_or(nvme.pipeline_read);
    nvme.pipeline_write = asked_.pipeline_write.value_or(nvme.pipeline_write);
  }

  std::string path(const Sourced<std::string>& folder, const Sourced<std::string>& device,
                   const std::string& what) {
    if (folder && !(*folder).empty()) return *folder;
    problems_.usage("offload of " + what + " to NVMe needs a folder", where(device.origin), "", "nvme_path");
    return "";
  }

  // Adafactor's row and column means and its update's norm are of whole matrices.
  void check_optimizer() {
    const std::string& optimizer = input_.parsed.arguments.optimizer.optim;
    if (optimizer != "adafactor" || kind_.stage == 0) return;
    if (plan_.offload_optimizer == "nvme") {
      problems_.usage("the state of adafactor cannot be kept on NVMe", where(asked_.offload_optimizer.origin),
                      "it is not one number for each number of a parameter, and small enough for memory",
                      "another --optim, or no offload of the optimizer");
    }
    if (plan_.mesh_shard == 1) return;
    problems_.usage("adafactor does not work with " + plan_.name, input_.parsed.origins.describe("optim"),
                    "it needs whole matrices, and every rank has some of the rows",
                    "--optim adamw_torch, or no sharding");
  }

  const ResolveInput& input_;
  const ParallelOptions& asked_;
  const RanksPlan& ranks_;
  Problems& problems_;
  const Kind& kind_;
  StrategyPlan plan_;
};

}  // namespace

StrategyPlan resolve_strategy(const ResolveInput& input, const RanksPlan& ranks, Problems& problems) {
  return Resolution(input, ranks, problems).run();
}

void check_dropped_layers(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const bool ddp = plan.do_train && plan.strategy.stage == 0 && plan.ranks.world_size > 1;
  if (!ddp || !running_architecture(input)->drops_layers()) return;
  const std::string hint = " out, or set the layerdrop of the model's config to 0";
  const auto from = [&](const char* flag) { return input.parsed.origins.describe(flag); };
  // Of micro-batches that reduce nothing the graph is walked at every update; recomputation gives all parameters gradients.
  if (plan.strategy.static_graph.value_or(false) && !plan.batch.reduces_last_alone()) {
    problems.usage("ddp_static_graph does not go with layers that are dropped by chance",
                   from("ddp_static_graph"), "updates use other parameters than the first one",
                   "leave --ddp_static_graph" + hint);
  } else if (!plan.strategy.find_unused_parameters && !plan.model.gradient_checkpointing) {
    problems.usage("layers that are dropped by chance need ddp_find_unused_parameters",
                   from("ddp_find_unused_parameters"),
                   "a dropped layer's parameters get no gradient, and DDP would wait for them",
                   "leave --ddp_find_unused_parameters" + hint);
  }
}

std::vector<Diagnostic> strategy_notes(const ResolveInput& input, const RunPlan& plan) {
  std::vector<Diagnostic> notes;
  const ParallelOptions& asked = input.parsed.arguments.parallel.sharding;
  const StrategyPlan& strategy = plan.strategy;
  const auto add = [&](Diagnostic::Severity severity, std::string what, std::string at, std::string why,
                       std::string hint) {
    notes.push_back({severity, std::move(what), std::move(at), std::move(why), std::move(hint)});
  };
  using Severity = Diagnostic::Severity;
  const bool to_host = strategy.offload_parameters == "cpu" || strategy.offload_optimizer == "cpu";
  if (to_host && !on_gpu(plan.ranks)) {
    add(Severity::kNote, "offload to the CPU changes nothing here", "", "the ranks run on the CPU", "");
  }
  const bool hybrid = strategy.name.starts_with("hybrid");
  const bool sized = asked.shard_ranks || asked.replicate_ranks;
  if (hybrid && !sized && strategy.mesh_replicate == 1 && strategy.mesh_shard > 1) {
    add(Severity::kNote,
        strategy.name + " shards over all " + std::to_string(strategy.mesh_shard) +
            " ranks, without replicas",
        where(asked.strategy.origin), "a shard group is a node unless a size is given, and there is one node",
        "--parallelism_config '{\"dp_replicate_size\": N}' for N replicas");
  }
  if (strategy.name == "ddp" && plan.ranks.world_size > 1 && strategy.static_graph.value_or(false) &&
      strategy.find_unused_parameters && plan.batch.reduces_last_alone()) {
    add(Severity::kNote, "the graph is walked at every update, in spite of ddp_static_graph",
        input.parsed.origins.describe("ddp_static_graph"),
        "DDP's static graph does not go with micro-batches that reduce no gradients; the Trainer ends with "
        "an error",
        "--ddp_find_unused_parameters false where every parameter is used");
  }
  if (!strategy.sharded()) return notes;
  for (const char* flag : {"ddp_find_unused_parameters", "ddp_bucket_cap_mb", "ddp_static_graph"}) {
    if (!input.parsed.origins.is_given(flag) || !input.parsed.origins.is_chosen(flag)) continue;
    add(Severity::kWarning, std::string(flag) + " has no effect with " + strategy.name,
        input.parsed.origins.describe(flag), "it is about DDP", "");
  }
  return notes;
}

}  // namespace hftrain::plan
