#include "hftrain/machine/detect_topology.h"

#include <map>
#include <utility>

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::machine {
namespace {

using hftrain::testing::TemporaryDirectory;
using plan::CudaDevice;
using plan::GpuInventory;
using plan::HostResources;
using plan::Topology;

Environment environment_of(std::map<std::string, std::string> variables) {
  return Environment(std::move(variables));
}

std::vector<CudaDevice> four_gpus() {
  std::vector<CudaDevice> gpus(4);
  for (int index = 0; index < 4; ++index) {
    gpus[static_cast<size_t>(index)].index = index;
    gpus[static_cast<size_t>(index)].uuid = "GPU-" + std::to_string(index);
  }
  return gpus;
}

// A root folder with the given files.
class FakeRoot {
 public:
  FakeRoot& file(const std::string& path, const std::string& text) {
    write_file_atomically(folder_ / path, text);
    return *this;
  }
  HostResources host(int cores = 8) const { return detect_host({}, sources(cores)); }
  TopologySources sources(int cores = 8) const { return {folder_.path() + '/', nullptr, "", cores}; }

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

TEST_CASE("files that the kernel can drop from its memory are not taken from what a group has left") {
  FakeRoot root;
  root.file("proc/meminfo", kMeminfo).file("proc/self/cgroup", "0::/job/leaf\n");
  root.file("sys/fs/cgroup/job/memory.max", "4000000000\n");
  root.file("sys/fs/cgroup/job/memory.current", "3900000000\n");
  root.file("sys/fs/cgroup/job/memory.stat",
            "anon 500000000\nfile 3400000000\nactive_file 400000000\ninactive_file 3000000000\n");
  CHECK(root.host().available_bytes == 3100000000);
  // The counters are not read at one moment.
  root.file("sys/fs/cgroup/job/memory.stat", "inactive_file 3900000001\n");
  CHECK(root.host().available_bytes == 4000000000);
  root.file("sys/fs/cgroup/job/memory.stat", "inactive_anon 3000000000\ninactive_file many\n");
  CHECK(root.host().available_bytes == 100000000);
  // Each group by what is its own.
  root.file("sys/fs/cgroup/job/leaf/memory.max", "2000000000\n");
  root.file("sys/fs/cgroup/job/leaf/memory.current", "1000000000\n");
  root.file("sys/fs/cgroup/job/leaf/memory.stat", "inactive_file 900000000\n");
  root.file("sys/fs/cgroup/job/memory.stat", "inactive_file 3000000000\n");
  CHECK(root.host().available_bytes == 1900000000);
}

TEST_CASE("of cgroup v1 the droppable files of a group with all below it count") {
  FakeRoot root;
  root.file("proc/meminfo", kMeminfo).file("proc/self/cgroup", "4:memory:/docker/x\n");
  root.file("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "2000000000\n");
  root.file("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "1900000000\n");
  root.file("sys/fs/cgroup/memory/docker/x/memory.stat",
            "inactive_file 5\nhierarchical_memory_limit 2000000000\ntotal_inactive_file 1400000000\n");
  CHECK(root.host().available_bytes == 1500000000);
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

TEST_CASE(
    "a processor widens bfloat16 where it lacks what oneDNN asks for, and the first one's flags say so") {
  const auto widens = [](const std::string& text) {
    FakeRoot root;
    root.file("proc/cpuinfo", text);
    return root.host().widens_bfloat16;
  };
  const std::string begins = "processor\t: 0\nmodel name\t: X flags avx512bw\nflags\t\t: fpu avx2 ";
  CHECK(widens(begins + "fma\n"));
  CHECK(widens(begins + "avx512bw avx512vl\n\nprocessor\t: 1\nflags\t\t: avx512bw avx512vl avx512dq\n"));
  CHECK_FALSE(widens(begins + "avx512dq avx512bw avx512vl\n"));
  CHECK_FALSE(widens(begins + "avx_ne_convert\n"));
  CHECK_FALSE(widens("processor\t: 0\nFeatures\t: fp asimd\n"));
  CHECK_FALSE(FakeRoot().host().widens_bfloat16);
}

TEST_CASE("OMP_NUM_THREADS is taken only when it is a number above 0") {
  FakeRoot root;
  CHECK(detect_host(environment_of({{"OMP_NUM_THREADS", "3"}}), root.sources()).requested_threads == 3);
  CHECK_FALSE(detect_host(environment_of({{"OMP_NUM_THREADS", "0"}}), root.sources()).requested_threads);
  CHECK_FALSE(detect_host(environment_of({{"OMP_NUM_THREADS", "many"}}), root.sources()).requested_threads);
}

TEST_CASE("more threads of a rank than a machine may have cores are not taken from the environment") {
  FakeRoot root;
  for (const char* variable : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    CHECK(detect_host(environment_of({{variable, "4096"}}), root.sources()).requested_threads == 4096);
    for (const char* many : {"4097", "1000000000"})
      CHECK_FALSE(detect_host(environment_of({{variable, many}}), root.sources()).requested_threads);
  }
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

TEST_CASE("a driver that is too old for LibTorch leaves no GPU, and says which would do") {
  FakeRoot root;
  TopologySources sources = root.sources();
  sources.torch_cuda = "13.0";
  const auto found = [&](const std::string& cuda) {
    sources.gpus = [cuda] { return GpuInventory{{plan::CudaDevice{}}, "570.86", cuda, ""}; };
    return detect_topology({}, sources);
  };
  const plan::Topology old = found("12.8");
  CHECK(old.gpu_problem ==
        "driver 570.86 knows CUDA up to 12.8, and LibTorch here is built for CUDA 13.0, which needs driver "
        "580 or newer");
  CHECK(old.devices.size() == 1);
  CHECK(old.visible.devices.empty());
  for (const char* cuda : {"13.0", "13.2", "14.0", ""}) {
    CHECK(found(cuda).gpu_problem.empty());
    CHECK(found(cuda).visible.devices.size() == 1);
  }
  sources.torch_cuda = "";  // one for CPUs, which hftrain doctor tells of
  CHECK(found("12.8").gpu_problem.empty());
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
  REQUIRE(topology.visible.devices.size() == 2);
  CHECK(topology.visible.devices[0].device.index == 3);
  CHECK(topology.visible.devices[1].device.index == 1);
  CHECK(topology.visible.devices[0].mask_entry == "3");
  CHECK(topology.devices.size() == 4);
  CHECK(topology.driver_version == "550.1");
}

TEST_CASE("a GPU that the driver does not open is told, and leaves the others to runs") {
  FakeRoot root;
  root.file("dev/nvidia0", "");
  TopologySources sources = root.sources();
  sources.gpus = [] {
    return GpuInventory{four_gpus(), "550.1", "12.4", "", {"the NVIDIA driver does not open GPU 2: lost"}};
  };
  const Topology topology = detect_topology({}, sources);
  CHECK(topology.gpu_problem.empty());
  CHECK(topology.visible.devices.size() == 4);
  REQUIRE(topology.visible.notes.size() == 1);
  CHECK(topology.visible.notes[0].find("does not open GPU 2: lost; ranks have the others") !=
        std::string::npos);
}

TEST_CASE("this machine is described without an error") {
  const Topology topology = detect_topology(Environment::of_process());
  CHECK(topology.host.usable_cores() >= 1);
  CHECK(topology.host.memory_bytes > 0);
  CHECK(topology.host.available_bytes > 0);
}

}  // namespace
}  // namespace hftrain::machine
