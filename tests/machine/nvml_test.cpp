#include "hftrain/machine/detect_topology.h"

#include <cstdlib>

#include "support/catch.h"

namespace hftrain::machine {
namespace {

using plan::CudaDevice;
using plan::GpuInventory;

TEST_CASE("the driver's library is read by name: GPUs, memory, capability and MIG instances") {
  const GpuInventory inventory = query_nvml();
  CHECK(inventory.problem.empty());
  CHECK(inventory.driver_version == "555.42");
  CHECK(inventory.cuda_version == "12.5");
  REQUIRE(inventory.devices.size() == 2);
  const CudaDevice& first = inventory.devices[0];
  CHECK(first.uuid == "GPU-one");
  CHECK(first.name == "First");
  CHECK(first.pci_bus_id == "00000000:01:00.0");
  CHECK(first.total_bytes == 1000);
  CHECK(first.free_bytes == 900);
  CHECK(first.compute_major == 9);
  CHECK_FALSE(first.mig_enabled);
  const CudaDevice& second = inventory.devices[1];
  CHECK(second.mig_enabled);
  REQUIRE(second.instances.size() == 2);
  CHECK(second.instances[1].uuid == "MIG-b");
  CHECK(second.instances[1].total_bytes == 700);
  CHECK(second.instances[1].compute_major == 8);
  CHECK(second.instances[1].pci_bus_id == "00000000:02:00.0");
  CHECK(second.instances[1].index == 1);
}

TEST_CASE("the library is closed again and can be asked a second time") {
  CHECK(query_nvml().problem.empty());
  CHECK(query_nvml().devices.size() == 2);
}

class Refusing {
 public:
  explicit Refusing(const char* codes) { ::setenv("FAKE_NVML_REFUSES", codes, 1); }
  ~Refusing() { ::unsetenv("FAKE_NVML_REFUSES"); }
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;
};

TEST_CASE("GPUs behind one that the driver does not open are seen, and numbered without it") {
  const char* lost = "the NVIDIA driver does not open GPU 1: fake error";
  const Refusing one("0 15 0");
  const GpuInventory inventory = query_nvml();
  CHECK(inventory.problem.empty());
  REQUIRE(inventory.devices.size() == 2);
  CHECK((inventory.devices[1].uuid == "GPU-two" && inventory.devices[1].index == 1));
  CHECK(inventory.unopened == std::vector<std::string>{lost});
}

TEST_CASE("GPUs that are kept from the process are none of its own") {
  const Refusing others("4 4 0 4");
  const GpuInventory inventory = query_nvml();
  CHECK((inventory.problem.empty() && inventory.unopened.empty()));
  REQUIRE(inventory.devices.size() == 1);
  CHECK((inventory.devices[0].uuid == "GPU-one" && inventory.devices[0].index == 0));
}

TEST_CASE("where the driver opens none of its GPUs, that is a problem of the machine") {
  const Refusing all("4 15");
  const GpuInventory inventory = query_nvml();
  CHECK(inventory.devices.empty());
  CHECK(inventory.problem == "the NVIDIA driver does not open GPU 0: fake error");
}

}  // namespace
}  // namespace hftrain::machine
