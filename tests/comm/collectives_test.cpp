// Communicator: what each backend makes of collective operations, and what they cost.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <map>

#include "comm/rank_processes.h"
#include "comm/socket_bytes.h"
#include "hftrain/comm/communicator.h"
#include "support/catch.h"
#include "support/refusal.h"

using namespace hftrain;
using comm::Communicator;
using comm::Reduction;
using testing::Rank;
using testing::RankBody;

namespace {

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf,
                                     at::kLong,  at::kInt,    at::kByte};
constexpr int64_t kSizes[] = {0, 1, 7, 1024, 100'003};

// 0 to 12, again and again. Made once a size: the divisions are a third of the time of these tests.
const at::Tensor& steps(int64_t size) {
  static std::map<int64_t, at::Tensor> made;
  at::Tensor& known = made[size];
  if (!known.defined()) known = at::arange(size, at::kLong).remainder(13);
  return known;
}

// Small whole numbers that differ by rank and position and that every dtype holds exactly, sums included.
at::Tensor pattern(int64_t size, int rank, at::ScalarType type) {
  return steps(size).add(rank + 1).to(type);
}

at::Tensor sum_of_patterns(int64_t size, int world_size, at::ScalarType type) {
  at::Tensor sum = at::zeros({size}, at::kDouble);
  for (int rank = 0; rank < world_size; ++rank) sum.add_(pattern(size, rank, at::kDouble));
  return sum.to(type);
}

void check_all_reduce(Communicator& communicator, int64_t size, at::ScalarType type) {
  const int world = communicator.world_size();
  at::Tensor summed = pattern(size, communicator.rank(), type);
  communicator.all_reduce(summed, Reduction::kSum);
  CHECK(at::equal(summed, sum_of_patterns(size, world, type)));

  at::Tensor largest = pattern(size, communicator.rank(), type);
  communicator.all_reduce(largest, Reduction::kMaximum);
  CHECK(at::equal(largest, pattern(size, world - 1, type)));

  at::Tensor average = pattern(size, communicator.rank(), type);
  if (!at::isFloatingType(type)) {
    CHECK_REFUSED(communicator.all_reduce(average, Reduction::kAverage),
                  "an average of integers is not defined");
    return;
  }
  communicator.all_reduce(average, Reduction::kAverage);
  CHECK(average.allclose(sum_of_patterns(size, world, at::kDouble).div(world).to(type), 1e-2, 0));
}

void check_moves(Communicator& communicator, int64_t size, at::ScalarType type) {
  const int world = communicator.world_size();
  for (const int root : {0, world - 1}) {
    at::Tensor received = pattern(size, communicator.rank(), type);
    communicator.broadcast(received, root);
    CHECK(at::equal(received, pattern(size, root, type)));
  }
  const at::Tensor gathered = at::zeros({world, size}, type);
  communicator.all_gather(gathered, pattern(size, communicator.rank(), type));
  for (int rank = 0; rank < world; ++rank) CHECK(at::equal(gathered[rank], pattern(size, rank, type)));
}

void check_reduce_scatter(Communicator& communicator, int64_t size, at::ScalarType type) {
  const int world = communicator.world_size();
  const at::Tensor whole = pattern(size * world, communicator.rank(), type);
  const at::Tensor expected =
      sum_of_patterns(size * world, world, type).view({world, size})[communicator.rank()];
  const at::Tensor part = at::zeros({size}, type);
  communicator.reduce_scatter(part, whole, Reduction::kSum);
  CHECK(at::equal(part, expected));
  if (!at::isFloatingType(type)) return;
  communicator.reduce_scatter(part, whole, Reduction::kAverage);
  CHECK(part.allclose(expected.to(at::kDouble).div(world).to(type), 1e-2, 0));
}

// Part by part for rank: 100 * from + to, of `size` elements.
void check_exchange(Communicator& communicator, int64_t size, at::ScalarType type) {
  const int world = communicator.world_size(), own = communicator.rank();
  const at::Tensor gathered = own == 0 ? at::zeros({world, size}, type) : at::Tensor();
  communicator.gather(gathered, pattern(size, own, type), 0);
  for (int rank = 0; own == 0 && rank < world; ++rank) {
    CHECK(at::equal(gathered[rank], pattern(size, rank, type)));
  }
  std::vector<at::Tensor> parts;
  for (int to = 0; to < world; ++to) parts.push_back(pattern(size, 10 * own + to, type));
  const at::Tensor exchanged = at::zeros({world, size}, type);
  communicator.all_to_all(exchanged, at::stack(parts));
  for (int from = 0; from < world; ++from) {
    CHECK(at::equal(exchanged[from], pattern(size, 10 * from + own, type)));
  }
}

// Pairs of all sizes and dtypes at once.
void check_lists(Communicator& communicator) {
  const int world = communicator.world_size(), own = communicator.rank();
  std::vector<at::Tensor> wholes, parts, inputs, sums;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const int64_t size : kSizes) {
      parts.push_back(pattern(size, own, type));
      wholes.push_back(at::zeros({world, size}, type));
      inputs.push_back(pattern(size * world, own, type));
      sums.push_back(at::zeros({size}, type));
    }
  }
  auto gather = communicator.all_gather_async(wholes, parts);
  auto scatter = communicator.reduce_scatter_async(sums, inputs, Reduction::kSum);
  gather.wait();
  scatter.wait();
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t size = parts[i].numel();
    const at::ScalarType type = parts[i].scalar_type();
    for (int rank = 0; rank < world; ++rank) CHECK(at::equal(wholes[i][rank], pattern(size, rank, type)));
    CHECK(at::equal(sums[i], sum_of_patterns(size * world, world, type).view({world, size})[own]));
  }
  communicator.all_gather_async(std::vector<at::Tensor>{}, {}).wait();
}

// Longer than what any backend moves at once, and not a multiple of anything.
void check_large(Communicator& communicator) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    constexpr int64_t kLarge = 1'300'007;
    INFO(c10::toString(type) << ", " << kLarge << " elements");
    check_all_reduce(communicator, kLarge, type);
    check_moves(communicator, kLarge, type);
    check_reduce_scatter(communicator, kLarge, type);
    check_exchange(communicator, kLarge, type);
  }
}

// The same numbers reduced whole and in parts are the same to the last bit: so DDP and sharding agree.
void check_same_bits(Communicator& communicator) {
  const int world = communicator.world_size(), own = communicator.rank();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    for (const int64_t size : {3, 5'001, 300'001}) {
      INFO(c10::toString(type) << ", " << size << " elements");
      const at::Tensor numbers = at::linspace(own + 0.1, 7.3 / (own + 1), size * world, at::kDouble).to(type);
      const at::Tensor whole = numbers.clone(), part = at::zeros({size}, type);
      communicator.all_reduce(whole, Reduction::kAverage);
      communicator.reduce_scatter(part, numbers, Reduction::kAverage);
      CHECK(at::equal(whole.view({world, size})[own], part));
    }
  }
}

// What the Communicator does not offer, but LibTorch's own code asks of a process group.
void check_process_group(Communicator& communicator) {
  const int world = communicator.world_size(), own = communicator.rank();
  const auto reduce = [&](const at::Tensor& tensor, c10d::ReduceOp::RedOpType operation) {
    std::vector<at::Tensor> tensors{tensor};
    c10d::AllreduceOptions options;
    options.reduceOp = operation;
    communicator.process_group()->allreduce(tensors, options)->wait();
    return tensor;
  };
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kLong}) {
    CHECK(at::equal(reduce(pattern(7, own, type), c10d::ReduceOp::MIN), pattern(7, 0, type)));
    at::Tensor product = at::ones({7}, type);
    for (int rank = 0; rank < world; ++rank) product.mul_(pattern(7, rank, type));
    CHECK(at::equal(reduce(pattern(7, own, type), c10d::ReduceOp::PRODUCT), product));
  }
  const at::Tensor found = at::zeros({world + 1}, at::kBool);
  found[own] = true;
  at::Tensor everywhere = at::ones({world + 1}, at::kBool);
  everywhere[world] = false;
  CHECK(at::equal(reduce(found, c10d::ReduceOp::MAX), everywhere));
}

// A group of some ranks, in another order, keeps the contract as well; the others go on meanwhile.
void check_subgroup(Communicator& communicator) {
  const int world = communicator.world_size(), own = communicator.rank();
  if (world < 3) return;
  if (own == 0) return;
  std::vector<int> ranks;
  for (int rank = world - 1; rank > 0; --rank) ranks.push_back(rank);
  const auto group = communicator.subgroup(ranks, "all but the first");
  check_all_reduce(*group, 100'003, at::kFloat);
  check_moves(*group, 1024, at::kLong);
  check_reduce_scatter(*group, 7, at::kBFloat16);
}

void check_texts(Communicator& communicator) {
  const auto texts =
      communicator.all_gather_text(std::string(static_cast<size_t>(communicator.rank()) * 3, 'x'));
  REQUIRE(texts.size() == static_cast<size_t>(communicator.world_size()));
  for (size_t rank = 0; rank < texts.size(); ++rank) CHECK(texts[rank] == std::string(rank * 3, 'x'));
}

// What every backend must do. All ranks call it together.
void check_contract(Communicator& communicator) {
  for (const at::ScalarType type : kTypes) {
    for (const int64_t size : kSizes) {
      INFO(c10::toString(type) << ", " << size << " elements");
      check_all_reduce(communicator, size, type);
      check_moves(communicator, size, type);
      check_reduce_scatter(communicator, size, type);
      check_exchange(communicator, size, type);
    }
  }
  check_lists(communicator);
  check_large(communicator);
  check_same_bits(communicator);
  check_process_group(communicator);
  check_subgroup(communicator);
  communicator.barrier();
  const int world = communicator.world_size();
  CHECK(communicator.sum(communicator.rank() + 0.5) == world * (world - 1) / 2 + 0.5 * world);
  CHECK(communicator.maximum(-communicator.rank()) == 0);
  check_texts(communicator);
}

const RankBody kContract("contract", [](const Rank& rank) { check_contract(*rank.connect()); });

const RankBody kOverlap("overlapping operations", [](const Rank& rank) {
  const auto communicator = rank.connect();
  std::vector<at::Tensor> tensors;
  std::vector<comm::PendingOperation> pending;
  for (int i = 0; i < 8; ++i) {
    tensors.push_back(at::full({10'000}, i + rank.rank(), at::kFloat));
    pending.push_back(communicator->all_reduce_async(tensors.back(), Reduction::kSum));
  }
  for (auto& operation : pending) operation.wait();
  pending.front().wait();  // a second wait is harmless
  for (int i = 0; i < 8; ++i)
    CHECK(at::equal(tensors[static_cast<size_t>(i)], at::full({10'000}, 2 * i + 1.0f)));
});

const RankBody kTraffic("traffic", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const int64_t world = rank.world_size();
  const at::Tensor whole = at::zeros({1200}, at::kFloat), part = at::zeros({1200 / world}, at::kFloat);
  const auto cost = [&](const auto& operation) {
    const int64_t before = communicator->bytes_sent();
    operation();
    return communicator->bytes_sent() - before;
  };
  CHECK(cost([&] { communicator->all_reduce(whole, Reduction::kSum); }) == 2 * 4800 * (world - 1) / world);
  CHECK(cost([&] { communicator->broadcast(whole, 0); }) == 4800 * (world - 1) / world);
  CHECK(cost([&] { communicator->all_gather(whole, part); }) == 4800 * (world - 1) / world);
  CHECK(cost([&] { communicator->reduce_scatter(part, whole, Reduction::kSum); }) ==
        4800 * (world - 1) / world);
  CHECK(cost([&] { communicator->all_to_all(at::zeros({1200}), whole); }) == 4800 * (world - 1) / world);
  CHECK(cost([&] { communicator->gather(whole, part, 0); }) == (rank.rank() == 0 ? 0 : 4800 / world));
  CHECK(cost([&] {
          communicator->all_gather_async({whole, whole}, {part, part}).wait();
        }) == 2 * 4800 * (world - 1) / world);
  CHECK(cost([&] { communicator->barrier(); }) == 0);
});

// The kernel's count beside the formula's: over TCP, of all ranks together, and of tensors that are large
// beside what frames them.
const RankBody kSockets("sockets", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const int64_t world = rank.world_size();
  const at::Tensor whole = at::zeros({3 << 18}, at::kFloat),
                   part = at::zeros({(3 << 18) / world}, at::kFloat);
  const auto check = [&](const char* name, const auto& operation, double times = 1) {
    communicator->barrier();
    const int64_t counted = communicator->bytes_sent(), sent = testing::bytes_sent_over_sockets();
    operation();
    communicator->barrier();
    const auto counted_here = static_cast<double>(communicator->bytes_sent() - counted);
    const auto sent_here = static_cast<double>(testing::bytes_sent_over_sockets() - sent);
    INFO(name << " on " << world << " ranks");
    CHECK(communicator->sum(sent_here) == Approx(times * communicator->sum(counted_here)).epsilon(0.01));
  };
  check("all-reduce", [&] { communicator->all_reduce(whole, Reduction::kSum); });
  check("broadcast", [&] { communicator->broadcast(whole, 0); });
  check("all-gather", [&] { communicator->all_gather(whole, part); });
  // Gloo makes it of an all-reduce.
  check(
      "reduce-scatter", [&] { communicator->reduce_scatter(part, whole, Reduction::kSum); }, 2);
  check("all-to-all", [&] { communicator->all_to_all(at::zeros({3 << 18}), whole); });
  check("gather", [&] { communicator->gather(whole, part, 0); });
});

}  // namespace

TEST_CASE("a world of one keeps the contract of the collectives") {
  const auto communicator = comm::make_communicator({}, comm::builtin_backends());
  check_contract(*communicator);
  CHECK(communicator->bytes_sent() == 0);
}

TEST_CASE("the bytes that are counted are those that the kernel sent, but for Gloo's reduce-scatter",
          "[process]") {
  require_success(testing::run_ranks("sockets", 2));
  require_success(testing::run_ranks("sockets", 3));
  require_success(testing::run_ranks("sockets", 4));
}

TEST_CASE("every backend keeps the contract of the collectives", "[process]") {
  const std::string backend = GENERATE("gloo", "shm");
  const int world = GENERATE(2, 3, 4);
  INFO(backend << " with " << world << " processes");
  require_success(testing::run_ranks("contract", world, {}, backend));
}

TEST_CASE("several operations may be under way at once", "[process]") {
  require_success(testing::run_ranks("overlapping operations", 2, {}, GENERATE("gloo", "shm")));
}

TEST_CASE("the bytes a rank sends are those of ring algorithms", "[process]") {
  require_success(testing::run_ranks("traffic", 2));
  require_success(testing::run_ranks("traffic", 3));
}

TEST_CASE("tensors that do not fit a collective are refused before anything is sent") {
  const auto communicator = comm::make_communicator({}, comm::builtin_backends());
  CHECK_REFUSED(communicator->all_gather(at::zeros({4}), at::zeros({3})), "tensors that do not match");
  CHECK_REFUSED(communicator->all_gather(at::zeros({4}), at::zeros({4}, at::kLong)),
                "tensors that do not match");
  CHECK_REFUSED(communicator->all_reduce(at::zeros({4, 4}).t(), Reduction::kSum), "not contiguous");
  CHECK_REFUSED(communicator->all_gather_async(std::vector{at::zeros({4})}, {}), "lists of different length");
  CHECK_REFUSED(communicator->all_to_all(at::zeros({4}), at::zeros({3})),
                "an all-to-all got tensors that do not match");
}
