#include "hftrain/machine/cpu_map.h"

#include <sched.h>

#include <filesystem>
#include <fstream>

#include "hftrain/base/cpu_list.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::machine {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return trim(line);
}

int number_in(const std::string& path) {
  return whole_number(first_line(path)).value_or(0);
}

int first_cpu_in(const std::string& path, int otherwise) {
  const auto cpus = parse_cpu_list(first_line(path));
  return cpus && !cpus->empty() ? cpus->front() : otherwise;
}

int complex_of(const std::string& cpu_folder, int cpu) {
  int deepest = 0, complex = cpu;
  std::error_code ignored;
  for (const auto& cache : std::filesystem::directory_iterator(cpu_folder + "/cache", ignored)) {
    const int level = number_in(cache.path() / "level");
    if (level <= deepest) continue;
    deepest = level;
    complex = first_cpu_in(cache.path() / "shared_cpu_list", cpu);
  }
  return complex;
}

void read_nodes(const std::string& root, std::vector<Cpu>& cpus) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root + "sys/devices/system/node", ignored)) {
    const std::string name = entry.path().filename();
    const auto node = name.rfind("node", 0) == 0 ? whole_number(name.substr(4)) : std::nullopt;
    const auto numbers = node ? parse_cpu_list(first_line(entry.path() / "cpulist")) : std::nullopt;
    for (const int number : numbers.value_or(std::vector<int>{})) {
      for (Cpu& cpu : cpus) {
        if (cpu.number == number) cpu.node = *node;
      }
    }
  }
}

}  // namespace

std::vector<int> allowed_cpus(pid_t process) {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(process, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<Cpu> read_cpu_map(const std::vector<int>& cpus, const std::string& root) {
  std::vector<Cpu> map;
  for (const int number : cpus) {
    const std::string folder = root + "sys/devices/system/cpu/cpu" + std::to_string(number);
    map.push_back({.number = number,
                   .core = first_cpu_in(folder + "/topology/thread_siblings_list", number),
                   .complex = complex_of(folder, number),
                   .socket = number_in(folder + "/topology/physical_package_id")});
  }
  read_nodes(root, map);
  return map;
}

std::optional<int> node_of_pci_device(const std::string& pci_bus_id, const std::string& root) {
  // The driver gives the domain eight digits, Linux four.
  std::string name = to_lower(pci_bus_id);
  if (const size_t colon = name.find(':'); colon == 8) name = name.substr(4);
  return whole_number(first_line(root + "sys/bus/pci/devices/" + name + "/numa_node"));  // -1: not known
}

}  // namespace hftrain::machine
