// A driver library with two GPUs, the second split in two instances, under the functions and layouts of the
// NVML reference. FAKE_NVML_REFUSES="15 0 4 0" gives what opening each of its GPUs, more of them than two, ends with. Built as libnvidia-ml.so.1 beside the test, which finds it by its run path.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

namespace {

struct Device {
  const char *uuid, *name, *bus;
  unsigned long long total, free;
  int major, minor;
};
Device devices[] = {{"GPU-one", "First", "00000000:01:00.0", 1000, 900, 9, 0},
                    {"GPU-two", "Second", "00000000:02:00.0", 2000, 1800, 8, 0},
                    {"MIG-a", "Second MIG", "", 500, 400, 0, 0},
                    {"MIG-b", "Second MIG", "", 700, 600, 0, 0}};
int initialised = 0;

std::vector<int> refusals() {
  const char* text = std::getenv("FAKE_NVML_REFUSES");
  std::istringstream words(text == nullptr ? "0 0" : text);
  std::vector<int> codes;
  for (int code = 0; words >> code;) codes.push_back(code);
  return codes;
}

int copy(const char* text, char* target, unsigned size) {
  if (std::strlen(text) >= size) return 7;  // NVML_ERROR_INSUFFICIENT_SIZE
  std::strcpy(target, text);
  return 0;
}

struct Pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct Memory {
  unsigned long long total, free, used;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return initialised++, 0;
}
int nvmlShutdown() {
  return --initialised, 0;
}
const char* nvmlErrorString(int) {
  return "fake error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return copy("555.42", text, size);
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return *version = 12050, 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  return *count = static_cast<unsigned>(refusals().size()), initialised == 1 ? 0 : 1;
}
// Of those that open, the first is the first device and all others the second.
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  bool first = true;
  for (unsigned i = 0; i < index; ++i) first = first && refusals()[i] != 0;
  return *handle = &devices[first ? 0 : 1], refusals()[index];
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  return copy(static_cast<Device*>(device)->name, text, size);
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  return copy(static_cast<Device*>(device)->uuid, text, size);
}
int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  return copy(static_cast<Device*>(device)->bus, pci->bus_id, sizeof(pci->bus_id));
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const auto* d = static_cast<Device*>(device);
  *memory = {d->total, d->free, d->total - d->free};
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  const auto* d = static_cast<Device*>(device);
  *major = d->major;
  *minor = d->minor;
  return 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = *pending = device == &devices[1] ? 1 : 0;
  return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  return *count = 7, 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** instance) {
  if (index != 0 && index != 3) return 6;  // NVML_ERROR_NOT_FOUND: slots may be empty
  *instance = &devices[index == 0 ? 2 : 3];
  return 0;
}
}
