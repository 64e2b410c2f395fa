// What this machine offers a run, as it is found. CUDA is never linked: the driver's management library (NVML)
// is opened at run time when it is there.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "hftrain/base/environment.h"
#include "hftrain/plan/topology.h"

namespace hftrain::machine {

// Where detect_topology looks; tests put their own values here.
struct TopologySources {
  std::string root = "/";                    // of /proc, /sys and /dev
  std::function<plan::GpuInventory()> gpus;  // unset: query_nvml
  std::optional<std::string> torch_cuda;     // "13.0"; unset: that of the LibTorch beside this program
  std::optional<int> allowed_cores;          // unset: sched_getaffinity
  std::optional<int> machine_cores;          // unset: sysconf
};

plan::Topology detect_topology(const Environment& environment, const TopologySources& sources = {});

// Asks the NVIDIA driver through libnvidia-ml.so.1. Never throws: what went wrong is in `problem`.
plan::GpuInventory query_nvml();

// Cores, memory and cgroup (v1, v2 and hybrid) limits below `sources.root`.
plan::HostResources detect_host(const Environment& environment, const TopologySources& sources = {});

}  // namespace hftrain::machine
