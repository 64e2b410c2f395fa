#include "hftrain/machine/detect_topology.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "hftrain/machine/installation.h"

namespace hftrain::machine {
namespace {

// /dev/nvidia0, /dev/nvidia1, …: the kernel module has made a node for each GPU.
bool has_gpu_nodes(const std::string& root) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root + "dev", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > 6 && name.rfind("nvidia", 0) == 0 &&
        std::isdigit(static_cast<unsigned char>(name[6])) != 0) {
      return true;
    }
  }
  return false;
}

int major_of(const std::string& version) {
  return std::atoi(version.c_str());
}

std::string cuda_of_own_libtorch(const Environment& environment) {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return "";
  return inspect_installation((self.parent_path() / "hftrain-worker").string(), environment).torch_cuda;
}

// Empty where there is none, or one of the two says nothing. A driver serves all of its major version (CUDA's minor version
// compatibility).
std::string too_old(const plan::Topology& topology, const std::string& torch_cuda) {
  if (topology.cuda_version.empty() || torch_cuda.empty()) return "";
  if (major_of(topology.cuda_version) >= major_of(torch_cuda)) return "";
  return "driver " + topology.driver_version + " knows CUDA up to " + topology.cuda_version +
         ", and LibTorch here is built for CUDA " + torch_cuda +
         (major_of(torch_cuda) == 13 ? ", which needs driver 580 or newer" : ", which needs a newer driver");
}

}  // namespace

plan::Topology detect_topology(const Environment& environment, const TopologySources& sources) {
  plan::Topology topology;
  topology.host = detect_host(environment, sources);
  topology.mask = environment.get("CUDA_VISIBLE_DEVICES");
  topology.device_order = environment.get_or("CUDA_DEVICE_ORDER", "FASTEST_FIRST");
  const bool nodes = has_gpu_nodes(sources.root);
  plan::GpuInventory inventory = sources.gpus ? sources.gpus() : query_nvml();
  topology.driver_version = inventory.driver_version;
  topology.cuda_version = inventory.cuda_version;
  if (nodes && !inventory.problem.empty()) topology.gpu_problem = inventory.problem;
  if (nodes && inventory.problem.empty() && inventory.devices.empty()) {
    topology.gpu_problem = "the NVIDIA driver lists no GPU although /dev has nodes for them";
  }
  topology.devices = std::move(inventory.devices);
  topology.visible = plan::apply_visible_devices(topology.devices, topology.mask, topology.device_order);
  if (topology.devices.empty()) return topology;
  for (const std::string& why : inventory.unopened)
    topology.visible.notes.push_back(why + "; ranks have the others, which are numbered without it");
  const std::string old =
      too_old(topology, sources.torch_cuda ? *sources.torch_cuda : cuda_of_own_libtorch(environment));
  if (old.empty()) return topology;
  topology.gpu_problem = old;
  topology.visible.devices.clear();
  return topology;
}

}  // namespace hftrain::machine
