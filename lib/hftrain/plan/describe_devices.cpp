#include "hftrain/base/text.h"
#include "hftrain/plan/describe.h"
#include "hftrain/plan/text_table.h"

namespace hftrain::plan {
namespace {

std::string capability(const CudaDevice& device) {
  return std::to_string(device.compute_major) + '.' + std::to_string(device.compute_minor);
}

std::string gpu_table(const Topology& topology) {
  std::vector<std::vector<std::string>> rows = {
      {"local rank", "position", "PCI index", "UUID", "name", "capability", "free", "total"}};
  const std::vector<VisibleDevice>& visible = topology.visible.devices;
  for (size_t i = 0; i < visible.size(); ++i) {
    const CudaDevice& device = visible[i].device;
    const std::string entry = visible[i].mask_entry.empty() ? "" : " (" + visible[i].mask_entry + ")";
    rows.push_back({std::to_string(i), std::to_string(i) + entry,
                    std::to_string(device.index) + (topology.visible.order_known ? "" : "?"), device.uuid,
                    device.name, capability(device), bytes_text(device.free_bytes),
                    bytes_text(device.total_bytes)});
  }
  return format_table(rows, 2);
}

std::string mask_line(const Topology& topology) {
  const std::string mask = topology.mask ? "'" + *topology.mask + "'" : "not set";
  return "  CUDA_VISIBLE_DEVICES is " + mask + ", CUDA_DEVICE_ORDER " + topology.device_order +
         "; the machine has " + std::to_string(topology.devices.size()) + " GPUs\n";
}

std::string host_lines(const HostResources& host) {
  std::string cores = std::to_string(host.usable_cores()) + " cores to use (" +
                      std::to_string(host.allowed_cores) + " allowed";
  if (host.quota_cores) {
    std::string quota = std::to_string(*host.quota_cores);
    cores += ", quota " + quota.substr(0, quota.find('.') + 3);
  }
  cores += ")";
  if (host.requested_threads)
    cores += ", " + host.threads_variable + '=' + std::to_string(*host.requested_threads);
  std::string memory =
      bytes_text(host.memory_bytes) + " memory, " + bytes_text(host.available_bytes) + " free";
  if (host.memory_limit_bytes) memory += ", limited to " + bytes_text(*host.memory_limit_bytes);
  return "  " + cores + "\n  " + memory + '\n';
}

Json device_json(const CudaDevice& device) {
  Json json = {{"index", device.index},
               {"uuid", device.uuid},
               {"name", device.name},
               {"pci_bus_id", device.pci_bus_id},
               {"free_bytes", device.free_bytes},
               {"total_bytes", device.total_bytes},
               {"compute_capability", capability(device)}};
  if (!device.mig_enabled) return json;
  json["instances"] = Json::array();
  for (const CudaDevice& instance : device.instances) json["instances"].push_back(device_json(instance));
  return json;
}

}  // namespace

std::string describe_devices(const Topology& topology) {
  std::string text = "GPUs\n";
  if (!topology.visible.devices.empty()) {
    text += gpu_table(topology);
  } else {
    text += topology.gpu_problem.empty() ? "  none to use: runs take the CPU\n"
                                         : "  " + topology.gpu_problem + '\n';
  }
  if (topology.mask || !topology.devices.empty()) text += mask_line(topology);
  if (!topology.driver_version.empty()) {
    text += "  driver " + topology.driver_version + ", CUDA up to " + topology.cuda_version + '\n';
  }
  for (const std::string& note : topology.visible.notes) text += "  " + note + '\n';
  return text + "host\n" + host_lines(topology.host);
}

Json devices_document(const Topology& topology) {
  Json visible = Json::array(), all = Json::array();
  for (size_t i = 0; i < topology.visible.devices.size(); ++i) {
    Json device = device_json(topology.visible.devices[i].device);
    device["local_rank"] = i;
    device["position"] = i;
    device["mask_entry"] = topology.visible.devices[i].mask_entry;
    visible.push_back(std::move(device));
  }
  for (const CudaDevice& device : topology.devices) all.push_back(device_json(device));
  const HostResources& host = topology.host;
  return {{"schema", 1},
          {"devices", visible},
          {"all_devices", all},
          {"cuda_visible_devices", topology.mask},
          {"cuda_device_order", topology.device_order},
          {"order_known", topology.visible.order_known},
          {"driver_version", topology.driver_version},
          {"cuda_version", topology.cuda_version},
          {"problem", topology.gpu_problem},
          {"notes", topology.visible.notes},
          {"host",
           {{"cores", host.usable_cores()},
            {"allowed_cores", host.allowed_cores},
            {"quota_cores", host.quota_cores},
            {"memory_bytes", host.memory_bytes},
            {"available_bytes", host.available_bytes},
            {"memory_limit_bytes", host.memory_limit_bytes}}}};
}

}  // namespace hftrain::plan
