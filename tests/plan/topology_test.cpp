#include "hftrain/plan/topology.h"

#include "support/catch.h"

namespace hftrain::plan {
namespace {

CudaDevice gpu_with_uuid(int index, const std::string& uuid, const std::string& name = "H200") {
  CudaDevice device;
  device.index = index;
  device.uuid = uuid;
  device.name = name;
  return device;
}

std::vector<CudaDevice> four_gpus() {
  return {gpu_with_uuid(0, "GPU-aa11"), gpu_with_uuid(1, "GPU-aa22"), gpu_with_uuid(2, "GPU-bb33"),
          gpu_with_uuid(3, "GPU-cc44")};
}

std::vector<int> indices(const VisibleDevices& visible) {
  std::vector<int> list;
  for (const VisibleDevice& entry : visible.devices) list.push_back(entry.device.index);
  return list;
}

std::vector<int> masked(const std::string& mask) {
  return indices(apply_visible_devices(four_gpus(), mask, "PCI_BUS_ID"));
}

using List = std::vector<int>;

TEST_CASE("without a mask every GPU is visible in PCI order") {
  CHECK(indices(apply_visible_devices(four_gpus(), std::nullopt, "PCI_BUS_ID")) == List{0, 1, 2, 3});
}

TEST_CASE("indices choose and order the GPUs") {
  CHECK(masked("2,0") == List{2, 0});
  CHECK(masked(" 3 , 1 ") == List{3, 1});
  CHECK(masked("1gpu2,2") == List{1, 2});  // the runtime reads leading digits
}

TEST_CASE("an empty mask and a negative entry hide GPUs without complaint") {
  for (const char* mask : {"", "-1", ",0"}) {
    INFO(mask);
    const VisibleDevices visible = apply_visible_devices(four_gpus(), std::string(mask), "PCI_BUS_ID");
    CHECK(visible.devices.empty());
    CHECK(visible.notes.empty());
  }
  CHECK(masked("1,-1,2") == List{1});
}

TEST_CASE("the first entry that names nothing ends the list and is told") {
  for (const char* mask : {"0,9,1", "0,x,1", "0,99999999999999999999,1"}) {
    INFO(mask);
    const VisibleDevices visible = apply_visible_devices(four_gpus(), std::string(mask), "PCI_BUS_ID");
    CHECK(indices(visible) == List{0});
    REQUIRE(visible.notes.size() == 1);
    CHECK(visible.notes[0].find("ends the list") != std::string::npos);
  }
}

TEST_CASE("a UUID may be shortened while it stays unambiguous") {
  CHECK(masked("GPU-cc44,GPU-aa11") == List{3, 0});
  CHECK(masked("GPU-b") == List{2});
  const VisibleDevices visible = apply_visible_devices(four_gpus(), "GPU-cc,GPU-aa", "PCI_BUS_ID");
  CHECK(indices(visible) == List{3});
  CHECK(visible.notes[0].find("fits 2 devices") != std::string::npos);
  CHECK(masked("GPU-zz").empty());
}

TEST_CASE("kinds of entries do not mix, and a repeated device empties the list") {
  CHECK(masked("0,GPU-cc44") == List{0});
  CHECK(masked("GPU-cc44,0") == List{3});
  CHECK(masked("1,2,1").empty());
  CHECK(masked("GPU-cc,GPU-cc44").empty());
}

TEST_CASE("a MIG mask shows one instance, with its own memory") {
  std::vector<CudaDevice> devices = four_gpus();
  devices[1].mig_enabled = true;
  devices[1].instances = {gpu_with_uuid(1, "MIG-11"), gpu_with_uuid(1, "MIG-12")};
  devices[1].instances[1].total_bytes = 10;
  const VisibleDevices visible = apply_visible_devices(devices, "MIG-12,MIG-11", "PCI_BUS_ID");
  REQUIRE(visible.devices.size() == 1);
  CHECK(visible.devices[0].device.uuid == "MIG-12");
  CHECK(visible.devices[0].device.total_bytes == 10);
  CHECK(visible.notes.size() == 1);
  const VisibleDevices by_index = apply_visible_devices(devices, "1", "PCI_BUS_ID");
  REQUIRE(by_index.devices.size() == 1);
  CHECK(by_index.devices[0].device.uuid == "MIG-11");
  devices[1].instances.clear();
  CHECK(apply_visible_devices(devices, "1", "PCI_BUS_ID").devices.empty());
}

TEST_CASE("the order is unknown only for different GPUs counted by speed") {
  std::vector<CudaDevice> devices = four_gpus();
  CHECK(apply_visible_devices(devices, "1,0", "FASTEST_FIRST").order_known);
  devices[2].name = "T4";
  CHECK_FALSE(apply_visible_devices(devices, "1,0", "FASTEST_FIRST").order_known);
  CHECK_FALSE(apply_visible_devices(devices, std::nullopt, "FASTEST_FIRST").order_known);
  CHECK(apply_visible_devices(devices, "1,0", "PCI_BUS_ID").order_known);
  CHECK(apply_visible_devices(devices, "GPU-aa11", "FASTEST_FIRST").order_known);
}

}  // namespace
}  // namespace hftrain::plan
