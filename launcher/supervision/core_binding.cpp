#include "launcher/supervision/core_binding.h"

#include <algorithm>
#include <map>
#include <set>

#include "hftrain/base/error.h"

namespace hftrain::launcher {
namespace {

using machine::Cpu;

class Binder {
 public:
  Binder(Binding binding, const std::vector<Cpu>& map, const std::vector<std::optional<int>>& nodes,
         const std::string& flag)
      : binding_(binding), map_(map), flag_(flag) {
    for (size_t rank = 0; rank < nodes.size(); ++rank) {
      homes_.push_back(binding == Binding::kOwnCores ? 0 : home_of(nodes[rank], rank, nodes.size()));
      neighbours_[homes_.back()].push_back(rank);
    }
  }

  std::vector<int> cpus_of(size_t rank) const {
    switch (binding_) {
      case Binding::kNode:
        return select([&](const Cpu& cpu) { return cpu.node == homes_[rank]; });
      case Binding::kSocket:
        return select([&](const Cpu& cpu) { return cpu.socket == socket_of(homes_[rank]); });
      case Binding::kCoreComplex:
        return complex_of(rank);
      case Binding::kExclusive:
      case Binding::kOwnCores:
        break;
    }
    return own_cores_of(rank);
  }

 private:
  template <class Wanted>
  std::vector<int> select(const Wanted& wanted) const {
    std::vector<int> numbers;
    for (const Cpu& cpu : map_) {
      if (wanted(cpu)) numbers.push_back(cpu.number);
    }
    return numbers;
  }

  int home_of(std::optional<int> node, size_t rank, size_t ranks) const {
    std::set<int> nodes;
    for (const Cpu& cpu : map_) nodes.insert(cpu.node);
    if (node && nodes.contains(*node)) return *node;
    return *std::next(nodes.begin(), static_cast<ptrdiff_t>(rank * nodes.size() / ranks));
  }

  int socket_of(int node) const {
    return std::find_if(map_.begin(), map_.end(), [&](const Cpu& cpu) { return cpu.node == node; })->socket;
  }

  bool at_home(const Cpu& cpu, size_t rank) const {
    return binding_ == Binding::kOwnCores || cpu.node == homes_[rank];
  }

  // Which of those with the same home the rank is.
  size_t place_of(size_t rank) const {
    const std::vector<size_t>& ranks = neighbours_.at(homes_[rank]);
    return static_cast<size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }

  std::vector<int> complex_of(size_t rank) const {
    std::set<int> complexes;
    for (const Cpu& cpu : map_) {
      if (at_home(cpu, rank)) complexes.insert(cpu.complex);
    }
    const int complex =
        *std::next(complexes.begin(), static_cast<ptrdiff_t>(place_of(rank) % complexes.size()));
    return select([&](const Cpu& cpu) { return at_home(cpu, rank) && cpu.complex == complex; });
  }

  std::vector<int> own_cores_of(size_t rank) const {
    std::vector<int> cores;  // whole ones: a core's hyper-threads stay together
    for (const Cpu& cpu : map_) {
      if (at_home(cpu, rank) && std::find(cores.begin(), cores.end(), cpu.core) == cores.end())
        cores.push_back(cpu.core);
    }
    const size_t ranks = neighbours_.at(homes_[rank]).size(), place = place_of(rank);
    if (cores.size() < ranks) {
      throw Error(ExitCode::kUsage, std::to_string(ranks) + " ranks cannot have cores of their own")
          .where(flag_)
          .why("they share " + std::to_string(cores.size()) + (cores.size() == 1 ? " core" : " cores"))
          .hint("fewer ranks (--nproc_per_node), or leave the flag out");
    }
    const auto part = [&](size_t n) {
      return cores.begin() + static_cast<ptrdiff_t>(n * cores.size() / ranks);
    };
    const std::set<int> own(part(place), part(place + 1));
    return select([&](const Cpu& cpu) { return own.contains(cpu.core); });
  }

  Binding binding_;
  const std::vector<Cpu>& map_;
  const std::string& flag_;
  std::vector<int> homes_;                         // NUMA node of each rank
  std::map<int, std::vector<size_t>> neighbours_;  // home -> its ranks
};

}  // namespace

std::vector<std::vector<int>> bind_ranks(Binding binding, const std::vector<Cpu>& map,
                                         const std::vector<std::optional<int>>& nodes,
                                         const std::string& flag) {
  if (map.empty()) {
    throw Error(ExitCode::kEnvironment, "the CPUs that hftrain may use are not known")
        .where(flag)
        .why("the kernel tells of none in /sys/devices/system/cpu")
        .hint("leave the flag out");
  }
  const Binder binder(binding, map, nodes, flag);
  std::vector<std::vector<int>> cpus;
  for (size_t rank = 0; rank < nodes.size(); ++rank) cpus.push_back(binder.cpus_of(rank));
  return cpus;
}

}  // namespace hftrain::launcher
