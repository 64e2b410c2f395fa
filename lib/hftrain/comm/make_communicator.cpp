// How the ranks of a run come together.
#include <numeric>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "hftrain/comm/communicator.h"

namespace hftrain::comm {
namespace {

std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(const GroupOptions& options, const BackendTable& backends) {
  BackendRequest request{.store = nullptr,
                         .backend = options.backend,
                         .rank = options.rank,
                         .world_size = options.world_size,
                         .all_ranks = options.world_size,
                         .members = first_ranks(options.world_size),
                         .one_machine = options.one_machine,
                         .master_host = options.store.host,
                         .interfaces = options.interfaces,
                         .device = options.device,
                         .timeout = options.timeout,
                         .patience = options.patience,
                         .status = options.status,
                         .watched = options.watched || !options.device.is_cpu(),
                         .lost = options.lost,
                         .stand_in = options.stand_in,
                         .stopped = options.stopped};
  // One rank alone connects to nobody.
  if (options.world_size == 1) return std::make_unique<Communicator>(request, nullptr);
  const auto maker = backends.find(options.backend);
  if (maker == backends.end()) {
    throw Error(ExitCode::kInternal, "there is no communication backend of the name " + options.backend);
  }
  request.store =
      open_store(options.store, options.rank, options.world_size, options.timeout, options.stopped);
  auto communicator = std::make_unique<Communicator>(request, maker->second);
  if (!request.watched) return communicator;
  request.store = c10::make_intrusive<c10d::PrefixStore>("host", request.store);
  request.device = c10::Device(c10::DeviceType::CPU);
  request.watched = false;
  request.backend = "gloo";
  communicator->host_.reset(new Communicator(std::move(request), builtin_backends().at("gloo"), "host",
                                             std::make_shared<Traffic>(communicator->traffic_),
                                             communicator->given_up_));
  return communicator;
}

void agree_on_plan(Communicator& communicator, const std::string& plan_hash) {
  const std::vector<std::string> hashes = communicator.all_gather_text(plan_hash);
  std::vector<int> different;
  for (int rank = 1; rank < communicator.world_size(); ++rank) {
    if (hashes[static_cast<size_t>(rank)] != hashes[0]) different.push_back(rank);
  }
  if (different.empty()) return;
  throw Error(ExitCode::kEnvironment, name_ranks(different) + " read another plan than rank 0")
      .where("OUTPUT_DIR/hftrain/plan.json")
      .why("plan " + hashes[static_cast<size_t>(different.front())] + " against " + hashes[0])
      .hint("all nodes must run the same build of hftrain and see the same output folder");
}

}  // namespace hftrain::comm
