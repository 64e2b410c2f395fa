#include "hftrain/plan/rank_memory.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/architectures/adapter.h"
#include "hftrain/plan/nvme_staging.h"
#include "hftrain/plan/optimizer_memory.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

using architectures::ParameterSpec;
using architectures::ParameterTable;

constexpr int64_t kMasterBytes = 4;  // bytes

// Adapters are float32 beside weights of any type. What is trained and saved whole beside them has the model's, as peft leaves it.
const std::string& held_dtype(const ParameterSpec& parameter, const RunPlan& plan) {
  static const std::string kAdapters = "float32";
  return parameter.adapts ? kAdapters : plan.model.master_dtype;
}

int64_t held_bytes(const ParameterSpec& parameter, const RunPlan& plan) {
  return bytes_of(held_dtype(parameter, plan));
}

int64_t parameter_bytes(const ParameterTable& table, const RunPlan& plan) {
  int64_t bytes = 0;
  for (const ParameterSpec& parameter : table.parameters)
    bytes += parameter.numel() * held_bytes(parameter, plan);
  return bytes;
}

// Of one type each, as optimizers go through them.
std::map<std::string, ParameterTable> by_type(const ParameterTable& table, const RunPlan& plan) {
  std::map<std::string, ParameterTable> tables;
  for (const ParameterSpec& parameter : table.parameters)
    tables[held_dtype(parameter, plan)].parameters.push_back(parameter);
  return tables;
}

int64_t state_bytes(const ParameterTable& table, const RunPlan& plan) {
  int64_t bytes = 0;
  for (const auto& [dtype, part] : by_type(table, plan))
    bytes += optimizer_state_bytes(plan.optimizer, part, dtype);
  return bytes;
}

int64_t most_update_bytes(const ParameterTable& table, const RunPlan& plan) {
  int64_t most = 0;
  for (const auto& [dtype, part] : by_type(table, plan))
    most = std::max(most, update_bytes(plan.optimizer, part, dtype));
  return most;
}

// One parameter as a rank of a strategy holds it.
struct Part {
  int64_t whole = 0;  // numbers, with the rows that fill it up to a multiple of the ranks
  int64_t local = 0;  // of this rank
  bool sharded = false;
};

Part part_of(const ParameterSpec& parameter, const StrategyPlan& strategy) {
  const int64_t numbers = parameter.numel();
  const bool ignored = std::binary_search(strategy.ignored.begin(), strategy.ignored.end(), parameter.name);
  if (strategy.mesh_shard == 1 || ignored || numbers < strategy.full_parameter_limit)
    return {numbers, numbers, false};
  const int64_t rows = parameter.shape.empty() ? 1 : parameter.shape.front(), ranks = strategy.mesh_shard;
  const int64_t local = (rows + ranks - 1) / ranks * (rows > 0 ? numbers / rows : 0);
  return {local * ranks, local, true};
}

// The table of this rank's parts, for what depends on their shapes.
ParameterTable local_table(const ParameterTable& table, const StrategyPlan& strategy) {
  ParameterTable local = table;
  for (ParameterSpec& parameter : local.parameters) {
    if (!part_of(parameter, strategy).sharded || parameter.shape.empty()) continue;
    parameter.shape.front() = (parameter.shape.front() + strategy.mesh_shard - 1) / strategy.mesh_shard;
  }
  return local;
}

// The parameters that are trained: the others have no gradient and no state.
ParameterTable trained(const ParameterTable& table, const std::vector<int>& frozen) {
  ParameterTable trained = table;
  trained.parameters.clear();
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    if (!std::binary_search(frozen.begin(), frozen.end(), static_cast<int>(i)))
      trained.parameters.push_back(table.parameters[i]);
  }
  return trained;
}

// Numbers of each unit that are not there between two uses, and its gradients.
struct UnitNumbers {
  int64_t transient = 0;
  int64_t gradients = 0;  // whole ones
  int64_t largest = 0;    // of them
  int64_t parts = 0;      // of this rank, of the gradients that are cut
  bool stays = false;     // from its first use to its last one
  bool waits = false;     // its gradients come from the first part of a backward pass to the last
};

// A tied weight is used by the first unit and by the last one, and its unit stays gathered in between.
bool holds_tied(const ParameterTable& table, const UnitPlan& unit) {
  return std::any_of(unit.parameters.begin(), unit.parameters.end(), [&](int index) {
    const std::string& name = table.parameters[static_cast<size_t>(index)].name;
    return std::any_of(table.tied.begin(), table.tied.end(),
                       [&](const architectures::TiedParameter& tied) { return tied.parameter == name; });
  });
}

// Of parts of the model between which others are units of their own.
bool is_scattered(const ParameterTable& table, const UnitPlan& unit) {
  const auto part_of_model = [&](int index) { return table.parameters[static_cast<size_t>(index)].unit; };
  return part_of_model(unit.parameters.front()) != part_of_model(unit.parameters.back());
}

std::vector<UnitNumbers> unit_numbers(const ParameterTable& table, const StrategyPlan& strategy,
                                      const std::vector<int>& frozen) {
  std::vector<UnitNumbers> units;
  for (const UnitPlan& unit : strategy.units) {
    UnitNumbers numbers{.stays = !unit.reshard_after_forward || holds_tied(table, unit),
                        .waits = is_scattered(table, unit)};
    for (const int index : unit.parameters) {
      const Part part = part_of(table.parameters[static_cast<size_t>(index)], strategy);
      if (!std::binary_search(frozen.begin(), frozen.end(), index)) {
        numbers.gradients += part.whole;
        numbers.largest = std::max(numbers.largest, part.whole);
        numbers.parts += part.sharded ? part.local : 0;
      }
      if (strategy.stage == 3 && part.sharded) numbers.transient += part.whole;
    }
    units.push_back(numbers);
  }
  return units;
}

// Units that stay are there all the time; of the others one is used while the next one, or all that follow, are
// gathered.
int64_t gathered_bytes(const std::vector<UnitNumbers>& units, const StrategyPlan& strategy, int64_t compute) {
  const bool ahead = strategy.backward_prefetch != "none" || strategy.forward_prefetch;
  int64_t staying = 0, moving = 0, all = 0;
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i].stays) {
      staying += units[i].transient;
      continue;
    }
    all += units[i].transient;
    const bool next = ahead && i + 1 < units.size() && !units[i + 1].stays;
    moving = std::max(moving, units[i].transient + (next ? units[i + 1].transient : 0));
  }
  return (staying + (ahead && !strategy.limit_all_gathers ? all : moving)) * compute;
}

// As ranks reduce them: the reverse of their first use.
std::vector<UnitNumbers> in_order_of_reduction(const std::vector<UnitNumbers>& units) {
  std::vector<UnitNumbers> order;
  std::copy_if(units.rbegin(), units.rend(), std::back_inserter(order),
               [](const UnitNumbers& unit) { return unit.gradients > 0; });
  return order;
}

// How a backward pass holds gradients: bytes of a number as it computes them, on their way, and of those that stay.
struct GradientTypes {
  int64_t compute, travelling;
  bool kept_so = true;  // those that stay have the type in which they travel
};

// Whole gradients that are there at once: of the units on their way, and of the one that the backward pass is at,
// whose own are turned into the type in which they travel one after the other.
int64_t whole_gradient_bytes(const std::vector<UnitNumbers>& order, const GradientTypes& bytes) {
  int64_t most = 0, waiting = 0;
  for (const UnitNumbers& unit : order) waiting += unit.waits ? unit.gradients : 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const UnitNumbers& unit = order[i];
    waiting -= unit.waits ? unit.gradients : 0;
    int64_t before = 0;  // on their way while this one's are computed; the oldest make room for it
    for (size_t back = 1; back <= std::min(i, kReductionsAtOnce); ++back) before += order[i - back].gradients;
    const int64_t beside = i < kReductionsAtOnce ? before : before - order[i - kReductionsAtOnce].gradients;
    const int64_t both =
        bytes.compute == bytes.travelling ? 0 : unit.largest * std::min(bytes.compute, bytes.travelling);
    most =
        std::max({most, unit.gradients * bytes.compute + before * bytes.travelling + waiting * bytes.compute,
                  unit.gradients * std::max(bytes.compute, bytes.travelling) + both +
                      beside * bytes.travelling + waiting * bytes.compute});
  }
  return most;
}

// What of this rank's parts comes from a reduction beside the gradients that stay. Between replicas all units' are
// on their way until the pass ends.
int64_t part_bytes(const std::vector<UnitNumbers>& order, const StrategyPlan& strategy, int64_t travelling) {
  int64_t all = 0, at_once = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    all += order[i].parts;
    int64_t together = 0;
    for (size_t back = 0; back < std::min(i + 1, kReductionsAtOnce); ++back)
      together += order[i - back].parts;
    at_once = std::max(at_once, together);
  }
  return (strategy.mesh_replicate > 1 ? all : at_once) * travelling;
}

// Stage 1 reduces them behind the last micro-batch of an update, where it is not told to reduce those of each.
bool keeps_whole_gradients(const RunPlan& plan) {
  return plan.strategy.stage == 1 && plan.batch.reduces_last_alone();
}

// Numbers of a part as pinned host memory holds them: LibTorch's allocator of it gives every block a power of two of bytes and
// keeps it, and each part is a block of its own.
int64_t pinned_numbers(int64_t numbers) {
  return numbers > 0 ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(numbers))) : 0;
}

// Gradients as they stay at the end of a backward pass.
struct HeldGradients {
  int64_t here = 0;  // where the rank computes
  int64_t on_host = 0;
};

// `whole`: numbers of all gradients; `parts`: bytes of this rank's.
HeldGradients held_gradients(const RunPlan& plan, int64_t whole, int64_t parts, bool to_host) {
  // On the GPU until the last micro-batch, behind which parts of them go to the host.
  if (keeps_whole_gradients(plan)) return {whole * kMasterBytes, to_host ? parts : 0};
  if (!to_host) return {parts, 0};
  // Those of a micro-batch are on their way while the next one computes, and are added when its own come.
  return {0, plan.batch.accumulation_steps > 1 ? 2 * parts : parts};
}

// Gradients of one backward pass beside those that stay.
int64_t travelling_bytes(const std::vector<UnitNumbers>& units, const RunPlan& plan, GradientTypes bytes,
                         bool to_host) {
  const std::vector<UnitNumbers> order = in_order_of_reduction(units);
  const bool accumulates = plan.batch.accumulation_steps > 1;
  // They become the gradients that stay where there are none yet and the type is the same.
  const bool apart = accumulates || to_host || !bytes.kept_so;
  const int64_t parts = apart ? part_bytes(order, plan.strategy, bytes.travelling) : 0;
  if (!keeps_whole_gradients(plan)) return whole_gradient_bytes(order, bytes) + parts;
  // Whole gradients stay in float32 until the last micro-batch, and are counted as such.
  bytes.travelling = 0;
  return (bytes.compute == kMasterBytes ? 0 : whole_gradient_bytes(order, bytes)) + parts;
}

int64_t largest_part(const ParameterTable& table, const StrategyPlan& strategy) {
  int64_t largest = 0;
  for (const ParameterSpec& parameter : table.parameters)
    largest = std::max(largest, part_of(parameter, strategy).local);
  return largest;
}

// Numbers that are cast for the forward pass. Of a table of tokens, which comes first, rows are, unless a head multiplies by it.
int64_t cast_numbers(const ParameterTable& table) {
  if (table.parameters.empty()) return 0;
  const ParameterSpec& first = table.parameters.front();
  const bool multiplied =
      std::ranges::any_of(table.tied, [&](const auto& tied) { return tied.parameter == first.name; });
  return table.count() - (first.embedding && !multiplied ? first.numel() : 0);
}

void replicated(const ParameterTable& table, const RunPlan& plan, RankMemory& memory) {
  memory.parameters = parameter_bytes(table, plan);
  if (plan.precision.compute != plan.model.master_dtype)
    memory.gathered = cast_numbers(table) * bytes_of(plan.precision.compute);
  if (!plan.do_train) return;
  const ParameterTable learns = trained(table, plan.model.frozen);
  memory.gradients = parameter_bytes(learns, plan);
  memory.optimizer = state_bytes(learns, plan);
  memory.update = most_update_bytes(learns, plan);
}

void sharded(const ParameterTable& table, const RunPlan& plan, RankMemory& memory) {
  const StrategyPlan& strategy = plan.strategy;
  const int64_t master = bytes_of(plan.model.master_dtype);
  const int64_t compute = plan.model.master_dtype == "float32" ? bytes_of(plan.precision.compute) : master;
  const bool gpu = plan.ranks.ranks.front().device == DeviceKind::kCuda;
  const bool to_host = gpu && (strategy.offload_parameters != "none" || strategy.offload_optimizer != "none");
  int64_t shards = 0, whole = 0;
  for (const ParameterSpec& parameter : table.parameters) {
    const Part part = part_of(parameter, strategy);
    const int64_t own = held_bytes(parameter, plan);
    const bool resident = strategy.stage < 3 || !part.sharded;
    const bool same_memory = resident && compute == own && !to_host;
    if (resident) whole += part.whole * compute;
    const bool pinned = to_host && strategy.offload_parameters != "nvme";
    if (!same_memory) shards += (pinned ? pinned_numbers(part.local) : part.local) * own;
  }
  const ParameterTable learns = trained(table, plan.model.frozen);
  int64_t parts = 0;
  GradientTypes types{compute, bytes_of(strategy.reduce_dtype)};
  for (const ParameterSpec& parameter : learns.parameters) {
    const int64_t local = part_of(parameter, strategy).local, bytes = held_bytes(parameter, plan);
    parts += (to_host ? pinned_numbers(local) : local) * bytes;
    types.kept_so = types.kept_so && bytes == types.travelling;
  }
  if (strategy.offload_parameters == "nvme") memory.parameters_on_nvme = std::exchange(shards, 0);
  memory.parameters = whole + shards;
  const std::vector<UnitNumbers> units = unit_numbers(table, strategy, plan.model.frozen);
  memory.gathered = gathered_bytes(units, strategy, compute);
  // They cross the bus as they are, and are cast behind it.
  if (to_host && compute != master) memory.gathered += largest_part(table, strategy) * master;
  if (to_host) memory.on_host = shards;
  if (!plan.do_train) return;
  const HeldGradients gradients = held_gradients(plan, learns.count(), parts, to_host);
  memory.gradients = gradients.here + gradients.on_host;
  memory.gradients_on_host = gradients.on_host;
  memory.gathered += travelling_bytes(units, plan, types, to_host);
  const ParameterTable own = local_table(learns, strategy);
  memory.optimizer = state_bytes(own, plan);
  if (!to_host) memory.update = most_update_bytes(own, plan);
  if (strategy.offload_optimizer == "nvme") {
    memory.nvme_staging = nvme_staging(strategy.nvme, memory.optimizer).bytes();
    memory.optimizer_on_nvme = std::exchange(memory.optimizer, 0);
  }
  if (to_host) memory.on_host += gradients.on_host + memory.optimizer;
}

// What a save writes of the model: of a run with an adapter what it trains, and what stands in its file beside that.
ParameterTable saved_table(const ParameterTable& table, const RunPlan& plan) {
  if (!plan.model.adapter) return table;
  ParameterTable saved = trained(table, plan.model.frozen);
  for (const architectures::SavedCopy& copy : architectures::saved_copies(table, plan.model.adapter->spec))
    saved.parameters.push_back(table.parameters[copy.parameter]);
  return saved;
}

// Whole parameters are put together on rank 0 one at a time.
int64_t gathering_bytes(const ParameterTable& table, const RunPlan& plan) {
  if (!plan.strategy.sharded() || plan.strategy.state_dict != "full" || plan.strategy.mesh_shard == 1)
    return 0;
  int64_t largest = 0;
  for (const ParameterSpec& parameter : saved_table(table, plan).parameters) {
    largest = std::max(largest, part_of(parameter, plan.strategy).whole * held_bytes(parameter, plan));
  }
  return largest;
}

// What rank 0 writes of a checkpoint, which a save in the background copies first.
int64_t written_bytes(const ParameterTable& table, const RunPlan& plan, const RankMemory& memory) {
  int64_t weights = weights_bytes(table, plan);
  if (plan.strategy.state_dict != "full") {
    weights = 0;
    for (const ParameterSpec& parameter : table.parameters)
      weights += part_of(parameter, plan.strategy).local * bytes_of(plan.model.master_dtype);
  }
  return weights + (plan.saving.only_model ? 0 : memory.optimizer);
}

}  // namespace

RankMemory rank_memory(const ParameterTable& table, const RunPlan& plan) {
  RankMemory memory;
  plan.strategy.sharded() ? sharded(table, plan, memory) : replicated(table, plan, memory);
  if (!plan.do_train) return memory;
  memory.saving = gathering_bytes(table, plan);
  if (plan.saving.asynchronous) memory.saving += written_bytes(table, plan, memory);
  return memory;
}

BackgroundCopies background_copies(const RunPlan& plan) {
  if (!plan.saving.asynchronous) return {};
  BackgroundCopies copies{.first = plan.memory_per_rank.saving};
  if (plan.strategy.sharded() && plan.strategy.state_dict != "full") {
    copies.other = copies.first;
  } else if (plan.strategy.sharded() && !plan.saving.only_model) {
    copies.other = plan.memory_per_rank.optimizer;
  }
  copies.machine = copies.first + (plan.ranks.ranks_on_machine - 1) * copies.other;
  return copies;
}

// The groups are those of comm::Mesh: an axis that covers the world is the world's own.
int64_t device_program_bytes(const RunPlan& plan) {
  int64_t groups = plan.ranks.world_size > 1 ? 1 : 0;
  for (const int axis : {plan.strategy.mesh_shard, plan.strategy.mesh_replicate})
    groups += plan.strategy.sharded() && axis > 1 && axis < plan.ranks.world_size ? 1 : 0;
  return kDeviceProgramBytes + groups * kDeviceGroupBytes;
}

ExpectedMemory expected_memory(const RunPlan& plan) {
  const MemoryPlan& memory = plan.memory_per_rank;
  const bool gpu = on_gpu(plan.ranks);
  const int64_t host = kWorkingProgramBytes + (gpu ? memory.host : memory.total);
  return {.rank = gpu ? device_program_bytes(plan) + memory.total - memory.host : host,
          .machine = host * plan.ranks.ranks_on_machine};
}

int64_t weights_bytes(const ParameterTable& table, const RunPlan& plan) {
  return parameter_bytes(saved_table(table, plan), plan);
}

int64_t whole_optimizer_bytes(const ParameterTable& table, const RunPlan& plan) {
  return plan.do_train ? state_bytes(trained(table, plan.model.frozen), plan) : 0;
}

}  // namespace hftrain::plan
