#include "hftrain/plan/machine_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

#include "hftrain/arguments/import/launch.h"
#include "hftrain/base/quantity.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/plan/gpu_models.h"
#include "hftrain/plan/requested_threads.h"

namespace hftrain::plan {
namespace {

constexpr int kMostMachines = 100'000, kMostGpus = 1024, kMostCores = 100'000;
constexpr int64_t kMostRanks = 131'072;  // of a plan: all of them are held and shown
constexpr int kCoresPerGpu = 8;          // where nothing is said and no name is known

std::optional<int64_t> memory_of(const std::string& part) {
  const std::optional<int64_t> bytes = parse_bytes(part);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

std::optional<int> cores_of(const std::string& part) {
  const std::optional<Quantity> found = parse_quantity(part);
  if (!found || (found->unit != "cores" && found->unit != "core")) return std::nullopt;
  if (found->number < 1 || found->number > kMostCores || found->number != std::floor(found->number))
    return std::nullopt;
  return static_cast<int>(found->number);
}

class SpecReader {
 public:
  explicit SpecReader(const std::string& text) : text_(text), rest_(trim(text)) { spec_.text = rest_; }

  MachineSpec read() {
    std::vector<int> counts;
    while (const std::optional<int> count = leading_count()) counts.push_back(*count);
    const std::vector<std::string> parts = split(rest_, '-');
    if (std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return trim(part).empty(); }))
      fail("a part of it is empty");
    if (cores_of(parts.front())) {
      cpus(counts, parts);
    } else {
      gpus(counts, parts);
    }
    if (spec_.machines > kMostMachines || spec_.gpus > kMostGpus)
      fail("it describes more machines or GPUs than any job has");
    if (const int64_t gpus = int64_t{spec_.machines} * spec_.gpus; gpus > kMostRanks)
      fail("it describes " + with_thousands(gpus) + " GPUs, and a plan has at most " +
           with_thousands(kMostRanks) + " ranks");
    return std::move(spec_);
  }

 private:
  // "2x" in front of what is left.
  std::optional<int> leading_count() {
    int count = 0;
    const char* const begin = rest_.data();
    const auto [end, error] = std::from_chars(begin, begin + rest_.size(), count);
    if (error != std::errc() || end == begin + rest_.size() || (*end != 'x' && *end != 'X'))
      return std::nullopt;
    if (count < 1) fail("numbers in it count from 1");
    rest_ = trim(rest_.substr(static_cast<size_t>(end - begin) + 1));
    return count;
  }

  void cpus(const std::vector<int>& counts, const std::vector<std::string>& parts) {
    if (counts.size() > 1) fail("machines without GPUs have one number in front: how many they are");
    if (!counts.empty()) spec_.machines = counts.front();
    spec_.cores = *cores_of(parts.front());
    if (parts.size() != 2 || !memory_of(parts[1])) fail("the memory of a machine follows its cores");
    spec_.host_bytes = memory_of(parts[1]);
  }

  void gpus(const std::vector<int>& counts, std::vector<std::string> parts) {
    if (counts.size() > 2) fail("two numbers stand in front: machines and the GPUs of each");
    spec_.machines = counts.size() == 2 ? counts.front() : 1;
    spec_.gpus = counts.empty() ? 1 : counts.back();
    parts = take_gpu(std::move(parts));
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::optional<int> cores = cores_of(parts[i]);
      const std::optional<int64_t> bytes = memory_of(parts[i]);
      if (cores && i == 0) {
        spec_.cores = *cores;
        spec_.cores_assumed = false;
      } else if (bytes && i + 1 == parts.size()) {
        spec_.host_bytes = bytes;
      } else {
        fail("'" + parts[i] + "' is neither cores nor memory of a machine");
      }
    }
  }

  // What stands behind the GPU.
  std::vector<std::string> take_gpu(std::vector<std::string> parts) {
    spec_.cores_assumed = true;
    if (const std::optional<int64_t> bytes = memory_of(parts.front())) {
      spec_.gpu_name = "GPU-" + trim(parts.front());
      spec_.gpu_bytes = *bytes;
      spec_.cores = kCoresPerGpu * spec_.gpus;
      return {parts.begin() + 1, parts.end()};
    }
    for (size_t size = parts.size(); size > 0; --size) {
      const auto end = parts.begin() + static_cast<std::ptrdiff_t>(size);
      const GpuModel* model = find_gpu_model(join({parts.begin(), end}, "-"));
      if (model == nullptr) continue;
      spec_.gpu_name = model->name;
      spec_.gpu_bytes = model->memory_bytes();
      spec_.capability = {model->compute_major, model->compute_minor};
      spec_.cores = model->cores * spec_.gpus;
      return {end, parts.end()};
    }
    unknown_gpu();
  }

  [[noreturn]] void unknown_gpu() const {
    std::vector<std::string> names, alike;
    for (const GpuModel& model : gpu_models()) {
      names.emplace_back(model.name);
      if (!rest_.empty() && to_lower(model.name).starts_with(to_lower(rest_))) alike.emplace_back(model.name);
    }
    if (alike.empty()) alike = nearest_names(rest_, names);
    fail("'" + rest_ + "' is neither a GPU of the table nor an amount of memory", did_you_mean(alike));
  }

  [[noreturn]] void fail(const std::string& why, const std::string& suggestion = "") const {
    throw Error(ExitCode::kUsage, "--machines '" + text_ + "' describes no machines")
        .where("--machines (command line)")
        .why(why)
        .hint((suggestion.empty() ? "" : suggestion + ' ') +
              "2x8xH100-80GB, 8x80GiB or 4x16cores-64GiB; `hftrain plan --machines list` shows the names of "
              "GPUs");
  }

  const std::string& text_;
  std::string rest_;
  MachineSpec spec_;
};

Diagnostic note_at(std::string what, std::string where, std::string why, std::string hint = "") {
  return {Diagnostic::Severity::kNote, std::move(what), std::move(where), std::move(why), std::move(hint)};
}

std::string counted_machines(int count) {
  return std::to_string(count) + (count == 1 ? " machine" : " machines");
}

// As resolve_ranks() counts them.
int64_t ranks_of_each(const MachineSpec& spec, const arguments::Arguments& arguments) {
  const std::optional<std::string>& asked = arguments.launch.nproc_per_node;
  const int64_t gpus = arguments.device.use_cpu ? 0 : spec.gpus;
  if (!asked) return gpus > 0 ? gpus : arguments.launch.cpu_ranks.value_or(1);
  if (*asked == "cpu" || (*asked == "auto" && gpus == 0)) return spec.cores;
  return whole_number<int64_t>(*asked).value_or(gpus);
}

void check_ranks(const MachineSpec& spec, const arguments::ParseOutcome& parsed) {
  const int64_t each = ranks_of_each(spec, parsed.arguments);
  if (each <= kMostRanks / spec.machines) return;
  const char* const flag = parsed.arguments.launch.nproc_per_node ? "nproc_per_node" : "cpu_ranks";
  throw Error(ExitCode::kUsage, "a plan has at most " + with_thousands(kMostRanks) + " ranks")
      .where(parsed.origins.describe(flag))
      .why(with_thousands(each) + " on each of " + counted_machines(spec.machines) + " (--machines " +
           spec.text + ") are more")
      .hint("fewer machines, or fewer ranks on each");
}

}  // namespace

MachineSpec parse_machine_spec(const std::string& text) {
  return SpecReader(text).read();
}

Topology topology_of_machine(const MachineSpec& spec, const Environment& environment) {
  Topology topology;
  for (int index = 0; index < spec.gpus; ++index) {
    CudaDevice device;
    device.index = index;
    device.uuid = "GPU-" + std::to_string(index);  // only to tell them apart in the mask
    device.name = spec.gpu_name;
    device.total_bytes = device.free_bytes = spec.gpu_bytes;
    constexpr std::pair kAmpere{8, 0};
    std::tie(device.compute_major, device.compute_minor) = spec.capability.value_or(kAmpere);
    topology.devices.push_back(std::move(device));
  }
  topology.mask = environment.get("CUDA_VISIBLE_DEVICES");
  topology.device_order = environment.get_or("CUDA_DEVICE_ORDER", "FASTEST_FIRST");
  topology.visible = apply_visible_devices(topology.devices, topology.mask, topology.device_order);
  for (VisibleDevice& visible : topology.visible.devices) visible.device.uuid.clear();
  topology.host.allowed_cores = topology.host.machine_cores = spec.cores;
  topology.host.memory_bytes = topology.host.available_bytes = spec.host_bytes.value_or(0);
  take_requested_threads(environment, topology.host);
  return topology;
}

std::vector<AgentFacts> agents_of(const MachineSpec& spec, const Topology& topology,
                                  const std::optional<std::string>& nproc_per_node) {
  std::vector<AgentFacts> agents;
  for (int number = 0; number < spec.machines; ++number) {
    AgentFacts agent;
    agent.agent = number;
    agent.host = agent.machine = "machine " + std::to_string(number) + " of " + spec.text;
    agent.topology = topology;
    agent.nproc_per_node = nproc_per_node;
    agents.push_back(std::move(agent));
  }
  return agents;
}

void check_machines(const MachineSpec& spec, const arguments::ParseOutcome& parsed) {
  const arguments::LaunchArguments& launch = parsed.arguments.launch;
  const int asked = arguments::machines_of(launch.nnodes).value_or(1);
  if (!parsed.origins.is_default("nnodes") && asked != spec.machines)
    throw Error(ExitCode::kUsage, "--machines and the number of machines of the run differ")
        .where(parsed.origins.describe("nnodes"))
        .why("the run is for " + counted_machines(asked) + ", and --machines " + spec.text + " are " +
             std::to_string(spec.machines))
        .hint("the same number in both");
  if (launch.standalone && spec.machines > 1)
    throw Error(ExitCode::kUsage, "standalone is one machine, and --machines are several")
        .where(parsed.origins.describe("standalone"))
        .why("--machines " + spec.text + " are " + counted_machines(spec.machines))
        .hint("leave standalone out, or --machines without the first number");
  check_ranks(spec, parsed);
}

std::vector<Diagnostic> notes_of(const MachineSpec& spec, const arguments::ParseOutcome& parsed,
                                 const RunPlan& plan) {
  std::vector<Diagnostic> notes;
  const bool gpus = plan.ranks.ranks.front().device == DeviceKind::kCuda;
  if (gpus && !spec.capability)
    notes.push_back(note_at("the GPUs are taken to have compute capability 8.0", "",
                            "--machines " + spec.text + " says their memory only",
                            "a name of `hftrain plan --machines list`"));
  if (spec.gpus > 0 && spec.cores_assumed)
    notes.push_back(note_at("the machines are taken to have " + std::to_string(spec.cores) + " cores each",
                            "", "", "--machines " + spec.text + "-<n>cores"));
  if (!spec.host_bytes)
    notes.push_back(note_at("whether the memory of the hosts is enough was not checked", "",
                            "--machines does not say how much they have",
                            "--machines " + spec.text + "-<n>GiB"));
  if (gpus && plan.ranks.ranks_on_machine < spec.gpus)
    notes.push_back(note_at(std::to_string(plan.ranks.ranks_on_machine) + " of " + std::to_string(spec.gpus) +
                                " GPUs of a machine are used",
                            parsed.origins.describe("nproc_per_node"), ""));
  if (spec.machines > 1 && !parsed.origins.is_given("nnodes") && parsed.origins.is_given("nproc_per_node"))
    notes.push_back(note_at("the run says nothing of " + counted_machines(spec.machines) + ", each gets " +
                                std::to_string(plan.ranks.ranks_on_machine) +
                                (plan.ranks.ranks_on_machine == 1 ? " rank" : " ranks"),
                            parsed.origins.describe("nproc_per_node"), "",
                            "mpirun, srun, --hostfile or --nnodes start it on several machines"));
  return notes;
}

}  // namespace hftrain::plan
