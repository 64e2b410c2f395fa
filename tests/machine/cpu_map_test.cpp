#include "hftrain/machine/cpu_map.h"

#include <filesystem>

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::machine {
namespace {

void write(const std::string& path, const std::string& text) {
  create_directories(std::filesystem::path(path).parent_path());
  write_file_atomically(path, text + '\n');
}

}  // namespace

TEST_CASE("cores, caches, sockets and nodes are read from the system's files") {
  const testing::TemporaryDirectory root;
  const std::string cpu = root / "sys/devices/system/cpu/cpu6";
  write(cpu + "/topology/thread_siblings_list", "2,6");
  write(cpu + "/topology/physical_package_id", "1");
  write(cpu + "/cache/index0/level", "1");
  write(cpu + "/cache/index0/shared_cpu_list", "2,6");
  write(cpu + "/cache/index3/level", "3");
  write(cpu + "/cache/index3/shared_cpu_list", "1-3,5-7");
  write(root / "sys/devices/system/node/node0/cpulist", "0-3");
  write(root / "sys/devices/system/node/node1/cpulist", "4-7");
  write(root / "sys/bus/pci/devices/0000:81:00.0/numa_node", "1");
  write(root / "sys/bus/pci/devices/0000:82:00.0/numa_node", "-1");
  const std::string place = root.path() + '/';
  CHECK(read_cpu_map({6}, place) ==
        std::vector<Cpu>{{.number = 6, .core = 2, .complex = 1, .socket = 1, .node = 1}});
  CHECK(node_of_pci_device("00000000:81:00.0", place) == 1);
  CHECK_FALSE(node_of_pci_device("00000000:82:00.0", place));
  CHECK_FALSE(node_of_pci_device("00000000:83:00.0", place));
}

TEST_CASE("a machine that says nothing has cores of their own on one node") {
  const testing::TemporaryDirectory root;
  CHECK(read_cpu_map({3}, root.path() + '/') == std::vector<Cpu>{{.number = 3, .core = 3, .complex = 3}});
  CHECK_FALSE(allowed_cpus().empty());
}

}  // namespace hftrain::machine
