#include "hftrain/comm/mpi/mpi_segment.h"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "hftrain/base/file.h"
#include "hftrain/comm/mpi/mpi_group.h"

namespace hftrain::comm {
namespace {

// vader_segment.HOST.USER.JOB.LOCAL_RANK
constexpr const char* kPrefix = "/dev/shm/vader_segment.";

std::set<std::string> mapped_segments() {
  std::set<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t name = line.find(kPrefix);
    if (name != std::string::npos) found.insert(line.substr(name));
  }
  return found;
}

std::string own_segment(const std::set<std::string>& mapped, int rank_on_machine) {
  const std::string end = '.' + std::to_string(rank_on_machine);
  for (const std::string& name : mapped) {
    if (name.ends_with(end)) return name;
  }
  return "";
}

}  // namespace

void MpiSegment::remove_name() {
  // Its ranks are in the order of the world, as Open MPI numbers them in the names.
  MPI_Comm machine = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine),
            "MPI_Comm_split_type");
  int rank = 0, size = 1;
  MPI_Comm_rank(machine, &rank);
  MPI_Comm_size(machine, &size);
  const std::set<std::string> mapped = mapped_segments();
  const std::string own = own_segment(mapped, rank);
  int missing = own.empty() || mapped.size() != static_cast<size_t>(size) ? 1 : 0;
  // The sum is known once every rank has counted, and then nobody needs a name any more.
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &missing, 1, MPI_INT, MPI_SUM, machine), "MPI_Allreduce");
  MPI_Comm_free(&machine);
  if (missing == 0 && ::unlink(own.c_str()) == 0) name_ = own;
}

void MpiSegment::put_name_back() const {
  if (!name_.empty()) FileDescriptor(::open(name_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
}

void MpiSegment::forget_name() const {
  if (!name_.empty()) ::unlink(name_.c_str());
}

}  // namespace hftrain::comm
