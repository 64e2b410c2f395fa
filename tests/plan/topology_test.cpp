#include "hftrain/plan/topology.h"

#include <filesystem>

#include "hftrain/base/file.h"
#include "resolve_case.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::plan {
namespace {

using hftrain::testing::TemporaryDirectory;

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

// A root folder with the given files.
class FakeRoot {
 public:
  FakeRoot& file(const std::string& path, const std::string& text) {
    write_file_atomically(folder_ / path, text);
    return *this;
  }
  HostResources host(int cores = 8) const { return detect_host({}, sources(cores)); }
  TopologySources sources(int cores = 8) const { return {folder_.path() + '/', nullptr, cores}; }

 private:
  TemporaryDirectory folder_;
};

constexpr const char* kMeminfo = "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n";
constexpr int64_t kKiB = 1024;

TEST_CASE("without cgroups the whole machine counts") {
  FakeRoot root;
  root.file("proc/meminfo", kMeminfo);
  const HostResources host = root.host();
  CHECK(host.usable_cores() == 8);
  CHECK(host.memory_bytes == 16000000 * kKiB);
  CHECK(host.available_bytes == 8000000 * kKiB);
  CHECK_FALSE(host.memory_limit_bytes);
}

TEST_CASE("cgroup v2 limits are the smallest on the way to the root") {
  FakeRoot root;
  root.file("proc/meminfo", kMeminfo).file("proc/self/cgroup", "0::/jobs/a:b/leaf\n");
  root.file("sys/fs/cgroup/jobs/a:b/leaf/cpu.max", "max 100000\n");
  root.file("sys/fs/cgroup/jobs/a:b/cpu.max", "250000 100000\n");
  root.file("sys/fs/cgroup/jobs/a:b/leaf/memory.max", "max\n");
  root.file("sys/fs/cgroup/jobs/memory.max", "4096000000\n");
  root.file("sys/fs/cgroup/jobs/memory.current", "1096000000\n");
  const HostResources host = root.host();
  CHECK(host.quota_cores == Approx(2.5));
  CHECK(host.usable_cores() == 2);
  CHECK(host.memory_limit_bytes == 4096000000);
  CHECK(host.usable_memory_bytes() == 4096000000);
  CHECK(host.available_bytes == 3000000000);
}

TEST_CASE("in a container the limits stand at the mount point") {
  FakeRoot root;
  root.file("proc/self/cgroup", "0::/../../kubepods/pod1\n").file("sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK(root.host().usable_cores() == 1);  // half a core is still one thread
}

TEST_CASE("cgroup v1 controllers are found under their combined and single names") {
  FakeRoot root;
  root.file("proc/meminfo", kMeminfo);
  root.file("proc/self/cgroup", "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n1:name=systemd:/docker/x\n");
  root.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
  root.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  root.file("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "2000000000\n");
  root.file("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "500000000\n");
  root.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const HostResources host = root.host();
  CHECK(host.usable_cores() == 3);
  CHECK(host.memory_limit_bytes == 2000000000);
  CHECK(host.available_bytes == 1500000000);
}

TEST_CASE("a v1 quota of -1 and a broken file set no limit") {
  FakeRoot root;
  root.file("proc/self/cgroup", "3:cpu:/\nnonsense\n0::/\n");
  root.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
      .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  root.file("sys/fs/cgroup/cpu.max", "garbage\n").file("sys/fs/cgroup/memory.max", "");
  const HostResources host = root.host();
  CHECK_FALSE(host.quota_cores);
  CHECK_FALSE(host.memory_limit_bytes);
}

TEST_CASE("the affinity mask wins over a larger quota") {
  FakeRoot root;
  root.file("proc/self/cgroup", "0::/\n").file("sys/fs/cgroup/cpu.max", "1600000 100000\n");
  CHECK(root.host(4).usable_cores() == 4);
}

TEST_CASE("OMP_NUM_THREADS is taken only when it is a number above 0") {
  FakeRoot root;
  CHECK(detect_host(environment_of({{"OMP_NUM_THREADS", "3"}}), root.sources()).requested_threads == 3);
  CHECK_FALSE(detect_host(environment_of({{"OMP_NUM_THREADS", "0"}}), root.sources()).requested_threads);
  CHECK_FALSE(detect_host(environment_of({{"OMP_NUM_THREADS", "many"}}), root.sources()).requested_threads);
}

TEST_CASE("MKL_NUM_THREADS sets the threads too, and wins over OMP_NUM_THREADS as in PyTorch") {
  FakeRoot root;
  const HostResources both =
      detect_host(environment_of({{"OMP_NUM_THREADS", "3"}, {"MKL_NUM_THREADS", "2"}}), root.sources());
  CHECK(both.requested_threads == 2);
  CHECK(both.threads_variable == "MKL_NUM_THREADS");
  const HostResources wrong =
      detect_host(environment_of({{"OMP_NUM_THREADS", "3"}, {"MKL_NUM_THREADS", "0"}}), root.sources());
  CHECK(wrong.requested_threads == 3);
  CHECK(wrong.threads_variable == "OMP_NUM_THREADS");
}

TEST_CASE("a driver that does not answer matters only where there are GPUs") {
  FakeRoot root;
  TopologySources sources = root.sources();
  sources.gpus = [] { return GpuInventory{{}, "", "", "no library"}; };
  CHECK(detect_topology({}, sources).gpu_problem.empty());
  root.file("dev/nvidiactl", "");
  CHECK(detect_topology({}, sources).gpu_problem.empty());
  root.file("dev/nvidia0", "");
  CHECK(detect_topology({}, sources).gpu_problem == "no library");
  sources.gpus = [] { return GpuInventory{}; };
  CHECK(detect_topology({}, sources).gpu_problem.find("lists no GPU") != std::string::npos);
}

TEST_CASE("the topology holds the mask as the user gave it") {
  FakeRoot root;
  TopologySources sources = root.sources();
  sources.gpus = [] { return GpuInventory{four_gpus(), "550.1", "12.4", ""}; };
  const Topology topology = detect_topology(
      environment_of({{"CUDA_VISIBLE_DEVICES", "3,1"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}), sources);
  CHECK(topology.mask == "3,1");
  CHECK(indices(topology.visible) == List{3, 1});
  CHECK(topology.visible.devices[0].mask_entry == "3");
  CHECK(topology.devices.size() == 4);
  CHECK(topology.driver_version == "550.1");
}

TEST_CASE("this machine is described without an error") {
  const Topology topology = detect_topology(Environment::of_process());
  CHECK(topology.host.usable_cores() >= 1);
  CHECK(topology.host.memory_bytes > 0);
  CHECK(topology.host.available_bytes > 0);
}

}  // namespace
}  // namespace hftrain::plan
