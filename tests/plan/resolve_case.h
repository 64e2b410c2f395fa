// A small run to resolve, which each test changes where it matters.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/plan/resolve.h"

namespace hftrain::plan {

inline constexpr int64_t kGiB = int64_t{1} << 30;

inline CudaDevice gpu(int index, int major = 9) {
  CudaDevice device;
  device.index = index;
  device.uuid = "GPU-" + std::to_string(index);
  device.name = "H200";
  device.compute_major = major;
  device.total_bytes = device.free_bytes = 80 * kGiB;
  return device;
}

inline Topology machine(int gpus, std::optional<std::string> mask = std::nullopt, int cores = 8) {
  Topology topology;
  for (int i = 0; i < gpus; ++i) topology.devices.push_back(gpu(i));
  topology.mask = mask;
  topology.visible = apply_visible_devices(topology.devices, mask, "PCI_BUS_ID");
  topology.host.allowed_cores = cores;
  topology.host.memory_bytes = topology.host.available_bytes = 16 * kGiB;
  return topology;
}

// A run of a tiny GPT-2 over 1000 samples, on which each test changes what it is about.
struct Case {
  explicit Case(std::vector<std::string> flags = {}, Topology where = machine(0), Environment variables = {})
      : environment(std::move(variables)), topology(std::move(where)) {
    std::vector<std::string> argv = {
        "--model_type",       "gpt2",
        "--config_overrides", "n_layer=2,n_embd=8,n_head=2,vocab_size=100,n_positions=64",
        "--train_file",       "a.txt"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    parsed = arguments::parse_arguments(argv, environment);
    model.architecture = architectures::Architecture::from_scratch(
        "gpt2", parsed.arguments.model.config_overrides.value_or(""));
    data.train = SplitFacts{"/cache/train", 1000, 64000, true};
    data.validation = SplitFacts{"/cache/valid", 100, 6400, true};
  }

  // A configuration file that names the whole run, with the same samples.
  static Case of_file(const std::string& path, Topology where = machine(0)) {
    Case run({}, std::move(where));
    run.parsed = arguments::parse_arguments(std::vector<std::string>{"--config", path}, run.environment);
    const arguments::ModelArguments& model = run.parsed.arguments.model;
    run.model.architecture = architectures::Architecture::from_scratch(model.model_type.value(),
                                                                       model.config_overrides.value_or(""));
    return run;
  }

  ResolveInput input() const {
    return {parsed,  topology, model,        environment,  data,  "/out", "label", "", uint64_t{100} * kGiB,
            "0.1.0", "{}",     std::nullopt, std::nullopt, agents};
  }
  RunPlan plan() const { return resolve(input()); }
  Error error() const {
    try {
      resolve(input());
    } catch (const Error& error) {
      return error;
    }
    return Error(ExitCode::kDone, "no error");
  }
  std::string notes() const {
    std::string text;
    for (const Diagnostic& diagnostic : plan_notes(input(), plan())) text += diagnostic.render() + '\n';
    return text;
  }

  Environment environment;
  arguments::ParseOutcome parsed;
  Topology topology;
  ModelFacts model;
  DataFacts data;
  std::vector<AgentFacts> agents;
};

// A model with an encoder and a decoder, of width 8.
inline std::shared_ptr<const architectures::Architecture> two_stacks(const std::string& family,
                                                                     const std::string& more) {
  return architectures::Architecture::from_scratch(family, "d_model=8,vocab_size=100," + more,
                                                   architectures::Head::kSeq2SeqLm);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline Environment environment_of(std::map<std::string, std::string> variables) {
  return Environment(std::move(variables));
}

}  // namespace hftrain::plan
