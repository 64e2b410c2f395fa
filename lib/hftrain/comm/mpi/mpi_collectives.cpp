#include "hftrain/comm/mpi/mpi_collectives.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace hftrain::comm {
namespace {

using Kind = MpiGroup::Kind;

constexpr int64_t kLine = 64;
// Up to here everybody sums everything: one exchange instead of two.
constexpr int64_t kShortBytes = 16 << 10;
// Blocks from here on travel in a ring.
constexpr int64_t kRingBytes = 64 << 10;
// What arrives in one step of a reduction, from all peers together, and how many steps are under way.
constexpr int64_t kStepBytes = 1 << 20;
constexpr size_t kSides = 4;

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
  if (to != from && bytes > 0) std::memmove(to, from, static_cast<size_t>(bytes));
}

}  // namespace

MpiCollectives::MpiCollectives(const BackendRequest& request)
    : group_(request), slot_bytes_(round_up(kStepBytes / std::max(1, request.world_size - 1), kLine)) {}

MpiCollectives::~MpiCollectives() {
  if (group_.aborted()) static_cast<void>(staging_.release());  // MPI may still write to it
}

std::byte* MpiCollectives::staging() {
  if (!staging_) {
    const int64_t sides = static_cast<int64_t>(kSides) * (group_.size() - 1) * slot_bytes_;
    staging_.reset(new std::byte[static_cast<size_t>(std::max(sides, kShortBytes * group_.size()))]);
  }
  return staging_.get();
}

template <typename Visit>
void MpiCollectives::for_each_peer(const Visit& visit) const {
  for (int i = 1; i < group_.size(); ++i) visit((group_.rank() + i) % group_.size());
}

std::vector<int64_t> MpiCollectives::begins_of_parts(int64_t bytes, int64_t part_bytes) const {
  std::vector<int64_t> begins;
  for (int rank = 0; rank <= group_.size(); ++rank) begins.push_back(std::min(bytes, rank * part_bytes));
  return begins;
}

void MpiCollectives::spread(const std::vector<Block>& blocks, Transfers& transfers) {
  const auto longest = std::max_element(blocks.begin(), blocks.end(),
                                        [](const Block& a, const Block& b) { return a.bytes < b.bytes; });
  if (longest->bytes >= kRingBytes) return spread_around(blocks);
  const Block& own = blocks[static_cast<size_t>(group_.rank())];
  for_each_peer([&](int rank) {
    const Block& block = blocks[static_cast<size_t>(rank)];
    group_.receive(rank, block.data, block.bytes, transfers);
    group_.send(rank, own.data, own.bytes, transfers);
  });
}

// Every rank passes on what it got last. Neighbours are mostly on one machine.
void MpiCollectives::spread_around(const std::vector<Block>& blocks) {
  const int size = group_.size(), own = group_.rank();
  const int left = (own + size - 1) % size, right = (own + 1) % size;
  Transfers transfers;
  for (int step = 1; step < size; ++step) {
    const Block& known = blocks[static_cast<size_t>((own - step + 1 + size) % size)];
    const Block& next = blocks[static_cast<size_t>((own - step + size) % size)];
    group_.receive(left, next.data, next.bytes, transfers);
    group_.send(right, known.data, known.bytes, transfers);
    group_.wait(transfers);
  }
}

void MpiCollectives::all_gather(c10::ArrayRef<GatherPair> pairs) {
  group_.begin(Kind::kGather);
  Transfers transfers;
  for (const GatherPair& pair : pairs) {
    std::vector<Block> blocks;
    for (std::byte* part : pair.parts) blocks.push_back({part, pair.bytes});
    copy_bytes(blocks[static_cast<size_t>(group_.rank())].data, pair.input, pair.bytes);
    spread(blocks, transfers);
  }
  group_.wait(transfers);
}

void MpiCollectives::gather(const GatherPair& pair, int root) {
  group_.begin(Kind::kRooted);
  Transfers transfers;
  if (group_.rank() == root) {
    copy_bytes(pair.parts[static_cast<size_t>(root)], pair.input, pair.bytes);
    for_each_peer([&](int rank) {
      group_.receive(rank, pair.parts[static_cast<size_t>(rank)], pair.bytes, transfers);
    });
  } else {
    group_.send(root, pair.input, pair.bytes, transfers);
  }
  group_.wait(transfers);
}

void MpiCollectives::broadcast(std::byte* data, int64_t bytes, int root) {
  group_.begin(Kind::kRooted);
  group_.broadcast(root, data, bytes);
}

void MpiCollectives::barrier() {
  group_.begin(Kind::kRooted);
  group_.barrier();
}

void MpiCollectives::all_to_all(std::byte* output, const std::byte* input, int64_t bytes) {
  group_.begin(Kind::kExchange);
  Transfers transfers;
  for_each_peer([&](int rank) {
    group_.receive(rank, output + rank * bytes, bytes, transfers);
    group_.send(rank, input + rank * bytes, bytes, transfers);
  });
  copy_bytes(output + group_.rank() * bytes, input + group_.rank() * bytes, bytes);
  group_.wait(transfers);
}

int64_t MpiCollectives::bytes_of(const Step& step, int rank) const {
  return std::clamp<int64_t>(step.scatter->part_bytes(rank) - step.begin, 0, slot_bytes_);
}

std::byte* MpiCollectives::slot(const Step& step, int peer) const {
  const int index = peer < group_.rank() ? peer : peer - 1;  // among the peers
  return staging_.get() + (static_cast<int64_t>(step.side) * (group_.size() - 1) + index) * slot_bytes_;
}

void MpiCollectives::start(const Step& step, Transfers& transfers) const {
  const Scatter& scatter = *step.scatter;
  for_each_peer([&](int rank) {
    group_.receive(rank, slot(step, rank), bytes_of(step, group_.rank()), transfers);
    group_.send(rank, scatter.input + scatter.begins[static_cast<size_t>(rank)] + step.begin,
                bytes_of(step, rank), transfers);
  });
}

void MpiCollectives::reduce(const Step& step) const {
  const Scatter& scatter = *step.scatter;
  const int own = group_.rank();
  std::vector<const std::byte*> sources;
  for (int rank = 0; rank < group_.size(); ++rank) {
    sources.push_back(rank == own ? scatter.input + scatter.begins[static_cast<size_t>(own)] + step.begin
                                  : slot(step, rank));
  }
  reduce_elements(scatter.how, sources, scatter.output + step.begin,
                  bytes_of(step, own) / scatter.element_bytes);
}

// While one step is summed, the next ones are on their way.
void MpiCollectives::scatter(const std::vector<Scatter>& scatters) {
  staging();
  std::vector<Step> steps;
  for (const Scatter& scatter : scatters) {
    int64_t longest = 0;
    for (int rank = 0; rank < group_.size(); ++rank) longest = std::max(longest, scatter.part_bytes(rank));
    for (int64_t begin = 0; begin < longest; begin += slot_bytes_) {
      steps.push_back({&scatter, begin, steps.size() % kSides});
    }
  }
  std::array<Transfers, kSides> transfers;
  size_t started = 0;
  for (const Step& step : steps) {
    for (; started < steps.size() && started < static_cast<size_t>(&step - steps.data()) + kSides;
         ++started) {
      start(steps[started], transfers[steps[started].side]);
    }
    group_.wait(transfers[step.side]);
    reduce(step);
  }
}

void MpiCollectives::reduce_scatter(c10::ArrayRef<ScatterPair> pairs) {
  group_.begin(Kind::kScatter);
  std::vector<Scatter> scatters;
  for (const ScatterPair& pair : pairs) {
    const int64_t part = pair.elements * pair.element_bytes;
    scatters.push_back(
        {pair.output, pair.input, begins_of_parts(part * group_.size(), part), pair.element_bytes, pair.how});
  }
  scatter(scatters);
}

void MpiCollectives::all_reduce_short(std::byte* data, int64_t elements, int64_t bytes,
                                      const Reducible& how) {
  std::vector<Block> blocks;
  std::vector<const std::byte*> sources;
  for (int rank = 0; rank < group_.size(); ++rank) {
    blocks.push_back({rank == group_.rank() ? data : staging() + rank * bytes, bytes});
    sources.push_back(blocks.back().data);
  }
  Transfers transfers;
  spread(blocks, transfers);
  group_.wait(transfers);
  reduce_elements(how, sources, data, elements);
}

void MpiCollectives::all_reduce(std::byte* data, int64_t elements, int64_t element_bytes,
                                const Reducible& how) {
  group_.begin(Kind::kReduce);
  const int64_t bytes = elements * element_bytes;
  if (bytes == 0) return;
  if (bytes <= kShortBytes) return all_reduce_short(data, elements, bytes, how);
  const std::vector<int64_t> begins =
      begins_of_parts(bytes, round_up((bytes + group_.size() - 1) / group_.size(), kLine));
  const auto own = static_cast<size_t>(group_.rank());
  scatter({{data + begins[own], data, begins, element_bytes, how}});
  std::vector<Block> blocks;
  for (size_t rank = 0; rank + 1 < begins.size(); ++rank) {
    blocks.push_back({data + begins[rank], begins[rank + 1] - begins[rank]});
  }
  Transfers transfers;
  spread(blocks, transfers);
  group_.wait(transfers);
}

}  // namespace hftrain::comm
