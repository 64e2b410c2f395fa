#include "hftrain/machine/detect_topology.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

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
  return topology;
}

}  // namespace hftrain::machine
