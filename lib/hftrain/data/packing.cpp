#include "hftrain/data/packing.h"

#include <algorithm>
#include <deque>
#include <map>

namespace hftrain::data {
namespace {

std::vector<PackedPiece> pieces_of(std::span<const int32_t> lengths, int64_t longest, bool splits) {
  std::vector<PackedPiece> pieces;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t length = splits ? lengths[i] : std::min<int64_t>(lengths[i], longest);
    for (int64_t begin = 0; begin < length; begin += longest)
      pieces.push_back({static_cast<int64_t>(i), begin, std::min(longest, length - begin)});
  }
  return pieces;
}

std::vector<PackedSequence> best_fit(std::vector<PackedPiece> pieces, int64_t longest) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const PackedPiece& a, const PackedPiece& b) { return a.length > b.length; });
  std::vector<PackedSequence> sequences;
  std::map<int64_t, std::deque<size_t>> with_room;  // sequences by the tokens that they still take
  for (const PackedPiece& piece : pieces) {
    size_t chosen = sequences.size();
    int64_t room = longest;
    if (const auto fit = with_room.lower_bound(piece.length); fit != with_room.end()) {
      room = fit->first;
      chosen = fit->second.front();
      fit->second.pop_front();
      if (fit->second.empty()) with_room.erase(fit);
    } else {
      sequences.emplace_back();
    }
    sequences[chosen].push_back(piece);
    if (room > piece.length) with_room[room - piece.length].push_back(chosen);
  }
  return sequences;
}

std::vector<PackedSequence> wrapped(std::span<const int32_t> lengths, int64_t longest) {
  std::vector<PackedSequence> sequences;
  int64_t room = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    for (int64_t begin = 0; begin < lengths[i];) {
      if (room == 0) {
        sequences.emplace_back();
        room = longest;
      }
      const int64_t length = std::min(room, lengths[i] - begin);
      sequences.back().push_back({static_cast<int64_t>(i), begin, length});
      begin += length;
      room -= length;
    }
  }
  return sequences;
}

}  // namespace

std::vector<PackedSequence> packed_sequences(std::span<const int32_t> lengths, int64_t longest,
                                             PackingStrategy strategy) {
  if (strategy == PackingStrategy::kWrapped) return wrapped(lengths, longest);
  return best_fit(pieces_of(lengths, longest, strategy == PackingStrategy::kBestFitSplit), longest);
}

}  // namespace hftrain::data
