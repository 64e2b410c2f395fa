#include "hftrain/comm/mpi/mpi_group.h"

#include <c10/util/Exception.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace hftrain::comm {
namespace {

using Clock = std::chrono::steady_clock;

// A message of MPI. Within the range of its int counts, and short enough that one of them ends while a wait
// is still awake when memory or a fast network moves it.
constexpr int64_t kMessageBytes = 1 << 20;
// Broadcast messages under way at a time.
constexpr int kWindow = 16;

constexpr int kSpins = 100;                       // a few µs: the time of a small message
constexpr std::chrono::microseconds kAwake{500};  // longer than ranks in step with each other are apart
constexpr std::chrono::microseconds kNap{50};

template <typename Visit>
void for_each_message(int64_t bytes, const Visit& visit) {
  for (int64_t begin = 0; begin < bytes; begin += kMessageBytes) {
    visit(begin, static_cast<int>(std::min(kMessageBytes, bytes - begin)));
  }
}

}  // namespace

void check_mpi(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(status, text, &length);
  TORCH_CHECK_WITH(DistBackendError, false, call, ": ", text);
}

MpiGroup::MpiGroup(const BackendRequest& request)
    : rank_(request.rank), size_(request.world_size), timeout_(request.timeout) {
  MPI_Group world = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check_mpi(MPI_Group_incl(world, size_, request.members.data(), &members), "MPI_Group_incl");
  check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, members, /*tag=*/0, &communicator_),
            "MPI_Comm_create_group");
  MPI_Group_free(&members);
  MPI_Group_free(&world);
  check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

MpiGroup::~MpiGroup() {
  if (!aborted_) MPI_Comm_free(&communicator_);
}

void MpiGroup::begin(Kind kind) {
  kind_ = kind;
  deadline_ = Clock::now() + timeout_;
  TORCH_CHECK_WITH(DistBackendError, !aborted_, "an earlier operation of the group has failed");
}

void MpiGroup::send(int to, const std::byte* data, int64_t bytes, Transfers& transfers) const {
  for_each_message(bytes, [&](int64_t begin, int size) {
    check_mpi(MPI_Isend(data + begin, size, MPI_BYTE, to, static_cast<int>(kind_), communicator_,
                        &transfers.emplace_back(MPI_REQUEST_NULL)),
              "MPI_Isend");
  });
}

void MpiGroup::receive(int from, std::byte* data, int64_t bytes, Transfers& transfers) const {
  for_each_message(bytes, [&](int64_t begin, int size) {
    check_mpi(MPI_Irecv(data + begin, size, MPI_BYTE, from, static_cast<int>(kind_), communicator_,
                        &transfers.emplace_back(MPI_REQUEST_NULL)),
              "MPI_Irecv");
  });
}

void MpiGroup::broadcast(int root, std::byte* data, int64_t bytes) {
  Transfers transfers;
  for_each_message(bytes, [&](int64_t begin, int size) {
    if (transfers.size() == kWindow) wait(transfers);
    check_mpi(MPI_Ibcast(data + begin, size, MPI_BYTE, root, communicator_,
                         &transfers.emplace_back(MPI_REQUEST_NULL)),
              "MPI_Ibcast");
  });
  wait(transfers);
}

void MpiGroup::barrier() {
  Transfers transfers(1, MPI_REQUEST_NULL);
  check_mpi(MPI_Ibarrier(communicator_, transfers.data()), "MPI_Ibarrier");
  wait(transfers);
}

void MpiGroup::wait(Transfers& transfers) {
  std::vector<int> indices(transfers.size());
  std::vector<MPI_Status> statuses(transfers.size());
  Clock::time_point last_progress = Clock::now();
  int tries = 0;
  for (size_t left = transfers.size(); left > 0;) {
    int done = 0;
    const int status = MPI_Testsome(static_cast<int>(transfers.size()), transfers.data(), &done,
                                    indices.data(), statuses.data());
    if (status == MPI_ERR_IN_STATUS) {
      for (int i = 0; i < done; ++i) check_mpi(statuses[static_cast<size_t>(i)].MPI_ERROR, "a message");
    }
    check_mpi(status, "MPI_Testsome");
    if (done > 0) {
      left -= static_cast<size_t>(done);
      last_progress = Clock::now();
      tries = 0;
    } else {
      pause(last_progress, ++tries);
    }
  }
  transfers.clear();
}

void MpiGroup::pause(Clock::time_point last_progress, int tries) {
  if (tries < kSpins) return;
  TORCH_CHECK_WITH(DistBackendError, !aborted_, "the group was given up");
  const Clock::time_point now = Clock::now();
  TORCH_CHECK_WITH(DistBackendError, now < deadline_, "not finished within ", timeout_.count(), " ms");
  if (now - last_progress < kAwake) {
    ::sched_yield();
  } else {
    std::this_thread::sleep_for(kNap);
  }
}

}  // namespace hftrain::comm
