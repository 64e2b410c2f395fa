#include <algorithm>
#include <cctype>
#include <set>

#include "hftrain/base/text.h"
#include "hftrain/plan/topology.h"

namespace hftrain::plan {
namespace {

enum class EntryKind { kIndex, kUuid, kMig };

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

EntryKind entry_kind(const std::string& entry) {
  if (starts_with(entry, "GPU-")) return EntryKind::kUuid;
  return starts_with(entry, "MIG-") ? EntryKind::kMig : EntryKind::kIndex;
}

// Leading digits, as the runtime's strtoul: "1gpu" is 1. -1 for anything else.
int leading_number(const std::string& entry) {
  size_t digits = 0;
  while (digits < entry.size() && std::isdigit(static_cast<unsigned char>(entry[digits])) != 0) ++digits;
  if (digits == 0 || digits > 6) return -1;
  return std::stoi(entry.substr(0, digits));
}

// All devices whose UUID starts with `entry`.
std::vector<CudaDevice> with_prefix(const std::vector<CudaDevice>& devices, const std::string& entry) {
  std::vector<CudaDevice> matches;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(matches),
               [&](const CudaDevice& device) { return starts_with(device.uuid, entry); });
  return matches;
}

std::vector<CudaDevice> all_instances(const std::vector<CudaDevice>& devices) {
  std::vector<CudaDevice> instances;
  for (const CudaDevice& device : devices) {
    instances.insert(instances.end(), device.instances.begin(), device.instances.end());
  }
  return instances;
}

struct Found {
  std::optional<CudaDevice> device;
  std::string problem;
};

Found find_index(const std::vector<CudaDevice>& devices, const std::string& entry) {
  const int index = leading_number(entry);
  if (index < 0) return {std::nullopt, "is not an index, a GPU- or a MIG- name"};
  if (index >= static_cast<int>(devices.size())) {
    return {std::nullopt, "is beyond the " + std::to_string(devices.size()) + " GPUs of this machine"};
  }
  return {devices[static_cast<size_t>(index)], ""};
}

Found find_entry(const std::vector<CudaDevice>& devices, EntryKind kind, const std::string& entry) {
  if (kind == EntryKind::kIndex) return find_index(devices, entry);
  const std::vector<CudaDevice> matches =
      with_prefix(kind == EntryKind::kUuid ? devices : all_instances(devices), entry);
  if (matches.empty()) return {std::nullopt, "names no device of this machine"};
  if (matches.size() > 1) return {std::nullopt, "fits " + std::to_string(matches.size()) + " devices"};
  return {matches.front(), ""};
}

bool same_model(const std::vector<CudaDevice>& devices) {
  return std::all_of(devices.begin(), devices.end(),
                     [&](const CudaDevice& device) { return device.name == devices.front().name; });
}

// A GPU in MIG mode computes only through an instance; CUDA shows one instance to a process.
std::optional<CudaDevice> computing_device(const CudaDevice& device, VisibleDevices& result) {
  if (!device.mig_enabled) return device;
  const std::string gpu = "GPU " + std::to_string(device.index);
  if (device.instances.empty()) {
    result.notes.push_back(gpu + " is in MIG mode and has no instances");
    return std::nullopt;
  }
  if (device.instances.size() > 1) {
    result.notes.push_back(gpu + " is in MIG mode: CUDA uses its first instance only");
  }
  return device.instances.front();
}

VisibleDevices all_devices(const std::vector<CudaDevice>& devices) {
  VisibleDevices result;
  for (const CudaDevice& device : devices) {
    const std::optional<CudaDevice> usable = computing_device(device, result);
    if (usable) result.devices.push_back({"", *usable});
  }
  return result;
}

VisibleDevices masked_devices(const std::vector<CudaDevice>& devices, const std::string& mask) {
  VisibleDevices result;
  std::set<std::string> seen;
  const std::vector<std::string> entries = split(mask, ',');
  const EntryKind kind = entry_kind(trim(entries.front()));
  for (const std::string& part : entries) {
    const std::string entry = trim(part);
    const bool ends_silently = entry.empty() || starts_with(entry, "-");
    if (ends_silently) break;
    const Found found = entry_kind(entry) == kind
                            ? find_entry(devices, kind, entry)
                            : Found{std::nullopt, "is of another kind than the entries before it"};
    if (!found.device) {
      result.notes.push_back("'" + entry + "' in CUDA_VISIBLE_DEVICES " + found.problem +
                             "; CUDA ends the list there");
      break;
    }
    if (!seen.insert(found.device->uuid).second) {
      result.devices.clear();
      result.notes.push_back("'" + entry +
                             "' is named twice in CUDA_VISIBLE_DEVICES; CUDA then shows no device");
      break;
    }
    const std::optional<CudaDevice> usable = computing_device(*found.device, result);
    if (usable) result.devices.push_back({entry, *usable});
    if (kind == EntryKind::kMig && entries.size() > 1) {
      result.notes.push_back("CUDA shows one MIG instance to a process: the first of the list");
      break;
    }
  }
  return result;
}

}  // namespace

VisibleDevices apply_visible_devices(const std::vector<CudaDevice>& devices,
                                     const std::optional<std::string>& mask,
                                     const std::string& device_order) {
  VisibleDevices result = mask ? masked_devices(devices, *mask) : all_devices(devices);
  const bool by_index = !mask || entry_kind(trim(*mask)) == EntryKind::kIndex;
  if (by_index && device_order != "PCI_BUS_ID" && !result.devices.empty() && !same_model(devices)) {
    result.order_known = false;
    result.notes.push_back(
        "the GPUs differ and CUDA_DEVICE_ORDER is FASTEST_FIRST: CUDA may count them in another order than "
        "this "
        "table; set CUDA_DEVICE_ORDER=PCI_BUS_ID");
  }
  return result;
}

}  // namespace hftrain::plan
