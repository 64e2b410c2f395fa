#include "hftrain/comm/shm_collectives.h"

#include <c10/util/SmallVector.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "hftrain/base/copy_past_cache.h"

namespace hftrain::comm {
namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kSide = static_cast<int64_t>(ShmCollectives::kSideBytes);
// Up to here everybody reduces everything: one wait instead of two.
constexpr int64_t kSmallBytes = 16 << 10;
// Results from here on do not fit into the caches of usual CPUs.
constexpr int64_t kPastCacheBytes = 32 << 20;
// What is reduced and then copied while it is in the first cache.
constexpr int64_t kHotBytes = 16 << 10;

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// A stretch of one pair within a step; `place` is its offset in the side or in each slot of it.
struct Piece {
  size_t pair;
  int64_t begin;
  int64_t bytes;
  int64_t place;
};

// Pairs cut into steps. Small messages need no memory from the heap, whose price is that of a small message.
class Steps {
 public:
  // Steps of at most `capacity` bytes. Pieces begin on cache lines, as pairs of any dtype need.
  template <typename Pairs, typename SizeOf>
  Steps(const Pairs& pairs, int64_t capacity, const SizeOf& size_of) {
    int64_t used = capacity;
    for (size_t pair = 0; pair < pairs.size(); ++pair) {
      const int64_t size = size_of(pairs[pair]);
      bytes_ += size;
      for (int64_t begin = 0; begin < size;) {
        if (used >= capacity) {
          first_.push_back(static_cast<uint32_t>(pieces_.size()));
          used = 0;
        }
        const int64_t bytes = std::min(size - begin, capacity - used);
        pieces_.push_back({pair, begin, bytes, used});
        begin += bytes;
        used = round_up(used + bytes, kLine);
      }
    }
  }

  size_t count() const { return first_.size(); }
  int64_t bytes() const { return bytes_; }  // of all pairs
  c10::ArrayRef<Piece> operator[](size_t step) const {
    const size_t end = step + 1 < first_.size() ? first_[step + 1] : pieces_.size();
    return {pieces_.data() + first_[step], end - first_[step]};
  }

 private:
  c10::SmallVector<Piece, 4> pieces_;
  c10::SmallVector<uint32_t, 4> first_;  // of each step in pieces_
  int64_t bytes_ = 0;
};

// The steps of one message.
Steps cut(int64_t bytes, int64_t capacity) {
  return Steps(std::array{bytes}, capacity, [](int64_t size) { return size; });
}

void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes, bool past_cache = false) {
  if (to == from || bytes == 0) return;
  if (past_cache) return copy_past_cache(to, from, static_cast<size_t>(bytes));
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

// A place in memory per rank.
using Sources = c10::SmallVector<const std::byte*, 8>;

// Lines for a signature, the side, and the results that belong to it.
constexpr size_t kAreaBytes = size_t{kLine} + 2 * ShmCollectives::kSideBytes;

}  // namespace

ShmCollectives::ShmCollectives(const BackendRequest& request) : group_(request, 2 * kAreaBytes) {}

ShmCollectives::Area ShmCollectives::filling(int rank, int side) const {
  std::byte* area = group_.data(rank) + static_cast<size_t>(side) * kAreaBytes;
  return {area + kLine, reinterpret_cast<Signature*>(area)};
}

std::byte* ShmCollectives::results(int rank, int side) const {
  return filling(rank, side).data + kSideBytes;
}

template <typename Visit>
void ShmCollectives::for_each_peer(const Visit& visit) const {
  for (int i = 1; i < group_.size(); ++i) visit((group_.rank() + i) % group_.size());
}

template <typename Fill>
ShmGroup::Event ShmCollectives::fill_side(int side, bool writes, const Signature& signature,
                                          const Fill& fill) {
  if (writes) {
    group_.wait_for_all(readers_left_[side]);
    const Area area = filling(group_.rank(), side);
    *area.signature = signature;
    fill(area.data);
  }
  return group_.publish();
}

const std::byte* ShmCollectives::side_of(int rank, const Step& step, const Signature& signature) {
  if (rank != group_.rank()) group_.wait_for(rank, step.filled);
  const Area area = filling(rank, step.side);
  if (!(*area.signature == signature)) group_.disagree(rank);
  return area.data;
}

template <typename Fill, typename Read>
void ShmCollectives::stream(size_t steps, bool writes, const Signature& signature, const Fill& fill,
                            const Read& read) {
  if (steps == 0) return;
  group_.begin();
  const auto fill_step = [&](size_t index) {
    const int side = side_;
    side_ ^= 1;
    return Step{index, side,
                fill_side(side, writes, signature, [&](std::byte* memory) { fill(index, memory); })};
  };
  Step current = fill_step(0);
  for (size_t index = 0; index < steps; ++index) {
    const Step next = index + 1 < steps ? fill_step(index + 1) : current;
    read(current);
    readers_left_[current.side] = group_.publish();
    current = next;
  }
}

void ShmCollectives::all_gather(c10::ArrayRef<GatherPair> pairs) {
  const Steps steps(pairs, kSide, [](const GatherPair& pair) { return pair.bytes; });
  const bool past_cache = steps.bytes() * group_.size() >= kPastCacheBytes;
  const Signature signature{Kind::kGather, static_cast<uint32_t>(steps.count()), steps.bytes()};
  // This rank's own part is copied while its piece is in the first cache.
  const auto fill = [&](size_t index, std::byte* memory) {
    for (const Piece& piece : steps[index]) {
      const GatherPair& pair = pairs[piece.pair];
      std::byte* own = pair.parts[static_cast<size_t>(group_.rank())];
      for (int64_t done = 0; done < piece.bytes; done += kHotBytes) {
        const int64_t hot = std::min(kHotBytes, piece.bytes - done), begin = piece.begin + done;
        copy_bytes(memory + piece.place + done, pair.input + begin, hot);
        copy_bytes(own + begin, pair.input + begin, hot, past_cache);
      }
    }
  };
  const auto take = [&](const std::byte* from, const Piece& piece, int rank) {
    std::byte* to = pairs[piece.pair].parts[static_cast<size_t>(rank)] + piece.begin;
    copy_bytes(to, from, piece.bytes, past_cache);
  };
  const auto read = [&](const Step& step) {
    for_each_peer([&](int rank) {
      const std::byte* memory = side_of(rank, step, signature);
      for (const Piece& piece : steps[step.index]) take(memory + piece.place, piece, rank);
    });
  };
  stream(steps.count(), true, signature, fill, read);
}

void ShmCollectives::gather(const GatherPair& pair, int root) {
  const Steps steps = cut(pair.bytes, kSide);
  const Signature signature{Kind::kRooted, static_cast<uint32_t>(steps.count()), pair.bytes};
  const bool receives = group_.rank() == root;
  if (receives) copy_bytes(pair.parts[static_cast<size_t>(root)], pair.input, pair.bytes);
  const auto fill = [&](size_t index, std::byte* memory) {
    copy_bytes(memory, pair.input + steps[index][0].begin, steps[index][0].bytes);
  };
  const auto read = [&](const Step& step) {
    if (!receives) return;
    const Piece& piece = steps[step.index][0];
    for_each_peer([&](int rank) {
      copy_bytes(pair.parts[static_cast<size_t>(rank)] + piece.begin, side_of(rank, step, signature),
                 piece.bytes);
    });
  };
  stream(steps.count(), !receives, signature, fill, read);
}

void ShmCollectives::broadcast(std::byte* data, int64_t bytes, int root) {
  const Steps steps = cut(bytes, kSide);
  const Signature signature{Kind::kRooted, static_cast<uint32_t>(steps.count()), bytes};
  const bool sends = group_.rank() == root;
  const auto fill = [&](size_t index, std::byte* memory) {
    copy_bytes(memory, data + steps[index][0].begin, steps[index][0].bytes);
  };
  const auto read = [&](const Step& step) {
    if (sends) return;
    const Piece& piece = steps[step.index][0];
    copy_bytes(data + piece.begin, side_of(root, step, signature), piece.bytes, bytes >= kPastCacheBytes);
  };
  stream(steps.count(), sends, signature, fill, read);
}

void ShmCollectives::reduce_scatter(c10::ArrayRef<ScatterPair> pairs) {
  const auto bytes_of = [](const ScatterPair& pair) { return pair.elements * pair.element_bytes; };
  const int64_t slot = kSide / group_.size() / kLine * kLine;
  const Steps steps(pairs, slot, bytes_of);
  const Signature signature{Kind::kScatter, static_cast<uint32_t>(steps.count()), steps.bytes()};
  const auto part = [&](const Piece& piece, int rank) {
    const ScatterPair& pair = pairs[piece.pair];
    return pair.input + rank * bytes_of(pair) + piece.begin;
  };
  const auto fill = [&](size_t index, std::byte* memory) {
    for_each_peer([&](int rank) {
      for (const Piece& piece : steps[index]) {
        copy_bytes(memory + rank * slot + piece.place, part(piece, rank), piece.bytes);
      }
    });
  };
  Sources sides(static_cast<size_t>(group_.size())), sources(sides.size());
  const auto read = [&](const Step& step) {
    for_each_peer([&](int rank) { sides[static_cast<size_t>(rank)] = side_of(rank, step, signature); });
    for (const Piece& piece : steps[step.index]) {
      const ScatterPair& pair = pairs[piece.pair];
      for (int rank = 0; rank < group_.size(); ++rank) {
        sources[static_cast<size_t>(rank)] =
            rank == group_.rank() ? part(piece, rank)
                                  : sides[static_cast<size_t>(rank)] + group_.rank() * slot + piece.place;
      }
      reduce_elements(pair.how, sources, pair.output + piece.begin, piece.bytes / pair.element_bytes);
    }
  };
  stream(steps.count(), true, signature, fill, read);
}

void ShmCollectives::all_to_all(std::byte* output, const std::byte* input, int64_t bytes) {
  const int64_t slot = kSide / group_.size() / kLine * kLine;
  const Steps steps = cut(bytes, slot);
  const Signature signature{Kind::kExchange, static_cast<uint32_t>(steps.count()), bytes};
  const auto fill = [&](size_t index, std::byte* memory) {
    const Piece& piece = steps[index][0];
    for_each_peer(
        [&](int rank) { copy_bytes(memory + rank * slot, input + rank * bytes + piece.begin, piece.bytes); });
  };
  const auto read = [&](const Step& step) {
    const Piece& piece = steps[step.index][0];
    const int own = group_.rank();
    copy_bytes(output + own * bytes + piece.begin, input + own * bytes + piece.begin, piece.bytes);
    for_each_peer([&](int rank) {
      copy_bytes(output + rank * bytes + piece.begin, side_of(rank, step, signature) + own * slot,
                 piece.bytes);
    });
  };
  stream(steps.count(), true, signature, fill, read);
}

void ShmCollectives::barrier() {
  const Signature signature{Kind::kBarrier, 1, 0};
  stream(
      1, true, signature, [](size_t, std::byte*) {},
      [&](const Step& step) { for_each_peer([&](int rank) { side_of(rank, step, signature); }); });
}

void ShmCollectives::all_reduce_small(std::byte* data, int64_t elements, int64_t bytes,
                                      const Reducible& how) {
  const Signature signature{Kind::kReduce, 1, bytes};
  const auto read = [&](const Step& step) {
    Sources sources;
    for (int rank = 0; rank < group_.size(); ++rank) sources.push_back(side_of(rank, step, signature));
    reduce_elements(how, sources, data, elements);
  };
  stream(
      elements == 0 ? 0 : 1, true, signature,
      [&](size_t, std::byte* memory) { copy_bytes(memory, data, bytes); }, read);
}

void ShmCollectives::all_reduce(std::byte* data, int64_t elements, int64_t element_bytes,
                                const Reducible& how) {
  const int64_t bytes = elements * element_bytes;
  if (bytes <= kSmallBytes) return all_reduce_small(data, elements, bytes, how);
  group_.begin();
  const int own = group_.rank();
  const size_t steps = static_cast<size_t>(round_up(bytes, kSide) / kSide);
  const Signature signature{Kind::kReduce, static_cast<uint32_t>(steps), bytes};
  struct Share {
    int64_t begin, bytes;  // within the step
  };
  const auto size_of = [&](size_t step) {
    return std::min(kSide, bytes - static_cast<int64_t>(step) * kSide);
  };
  const auto share_of = [&](size_t step, int rank) {
    const int64_t size = size_of(step), each = round_up((size + group_.size() - 1) / group_.size(), kLine);
    const int64_t begin = std::min(size, rank * each);
    return Share{begin, std::min(size, begin + each) - begin};
  };
  std::vector<Step> filled(steps);
  std::vector<ShmGroup::Event> reduced(steps);
  Sources sources(static_cast<size_t>(group_.size()));

  const auto fill = [&](size_t index) {
    const int side = side_;
    side_ ^= 1;
    const std::byte* input = data + static_cast<int64_t>(index) * kSide;
    const auto write = [&](std::byte* memory) {
      for_each_peer([&](int rank) {
        const Share share = share_of(index, rank);
        copy_bytes(memory + share.begin, input + share.begin, share.bytes);
      });
    };
    filled[index] = {index, side, fill_side(side, true, signature, write)};
  };
  const auto reduce = [&](size_t index) {
    const Step& step = filled[index];
    const Share share = share_of(index, own);
    std::byte* target = data + static_cast<int64_t>(index) * kSide + share.begin;
    for (int rank = 0; rank < group_.size(); ++rank) {
      sources[static_cast<size_t>(rank)] =
          rank == own ? target : side_of(rank, step, signature) + share.begin;
    }
    group_.wait_for_all(results_taken_[step.side]);
    std::byte* result = results(own, step.side);
    for (int64_t begin = 0; begin < share.bytes; begin += kHotBytes) {
      const int64_t hot = std::min(kHotBytes, share.bytes - begin);
      reduce_elements(how, sources, result + begin, hot / element_bytes);
      copy_bytes(target + begin, result + begin, hot);
      for (const std::byte*& source : sources) source += hot;
    }
    reduced[index] = readers_left_[step.side] = group_.publish();
  };
  const auto collect = [&](size_t index) {
    const Step& step = filled[index];
    for_each_peer([&](int rank) {
      group_.wait_for(rank, reduced[index]);
      const Share share = share_of(index, rank);
      copy_bytes(data + static_cast<int64_t>(index) * kSide + share.begin, results(rank, step.side),
                 share.bytes);
    });
    results_taken_[step.side] = group_.publish();
  };
  for (size_t i = 0; i < steps + 2; ++i) {
    if (i < steps) fill(i);
    if (i >= 1 && i - 1 < steps) reduce(i - 1);
    if (i >= 2) collect(i - 2);
  }
}

}  // namespace hftrain::comm
