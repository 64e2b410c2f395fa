#include "hftrain/tokenizer/bpe_model.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/byte_level.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

// Above this many symbols a heap beats looking at every pair.
constexpr size_t kShort = 64;

void drop_swallowed(std::vector<Symbol>& symbols) {
  symbols.erase(
      std::remove_if(symbols.begin(), symbols.end(), [](const Symbol& symbol) { return symbol.size == 0; }),
      symbols.end());
}

}  // namespace

BpeModel::BpeModel(Vocabulary vocabulary, MergeTable merges, BpeOptions options)
    : vocabulary_(std::move(vocabulary)), merges_(std::move(merges)), options_(std::move(options)) {
  if (options_.unknown_token) unknown_id_ = vocabulary_.id_of(*options_.unknown_token);
  for (int byte = 0; byte < 256; ++byte) {
    byte_level_ids_[byte] = vocabulary_.id_of(byte_level_character(static_cast<uint8_t>(byte)));
    fallback_ids_[byte] = options_.byte_fallback
                              ? vocabulary_.id_of(byte_fallback_token(static_cast<uint8_t>(byte)))
                              : kNoToken;
    knows_all_bytes_ = knows_all_bytes_ && byte_level_ids_[byte] != kNoToken;
  }
  if (!options_.continuing_prefix.empty() || !options_.end_of_word.empty()) knows_all_bytes_ = false;
}

void BpeModel::tokenize(std::string_view piece, std::vector<ModelToken>& tokens) const {
  if (options_.ignore_merges) {
    if (const TokenId id = vocabulary_.id_of(piece); id != kNoToken) {
      tokens.push_back({id, 0, static_cast<uint32_t>(piece.size())});
      return;
    }
  }
  std::vector<Symbol> symbols;
  start(piece, symbols);
  merge(symbols);
  uint32_t begin = 0;
  for (const Symbol& symbol : symbols) {
    tokens.push_back({symbol.id, begin, begin + symbol.size});
    begin += symbol.size;
  }
}

void BpeModel::tokenize_bytes(std::string_view bytes, std::vector<Symbol>& symbols) const {
  symbols.clear();
  if (options_.ignore_merges) {
    if (const TokenId id = vocabulary_.id_of(to_byte_level(bytes)); id != kNoToken) {
      symbols.push_back({id, static_cast<uint32_t>(bytes.size())});
      return;
    }
  }
  for (const char byte : bytes) symbols.push_back({byte_level_ids_[static_cast<uint8_t>(byte)], 1});
  merge(symbols);
}

bool BpeModel::fall_back_to_bytes(std::string_view character, std::vector<Symbol>& symbols) const {
  const auto id = [this](char byte) { return fallback_ids_[static_cast<uint8_t>(byte)]; };
  if (!std::all_of(character.begin(), character.end(), [&](char byte) { return id(byte) != kNoToken; }))
    return false;
  for (const char byte : character) symbols.push_back({id(byte), 1});
  return true;
}

void BpeModel::start(std::string_view piece, std::vector<Symbol>& symbols) const {
  uint32_t unknown_size = 0;  // bytes of an unknown that is not yet written, because the next may join it
  const auto write_unknown = [&] {
    if (unknown_size > 0) symbols.push_back({unknown_id_, unknown_size});
    unknown_size = 0;
  };
  std::string decorated;
  for (size_t i = 0, size; i < piece.size(); i += size) {
    size = unicode::size_of(piece[i]);
    std::string_view character = piece.substr(i, size);
    const bool continues = i > 0 && !options_.continuing_prefix.empty();
    const bool ends = i + size == piece.size() && !options_.end_of_word.empty();
    if (continues || ends) {
      decorated = (continues ? options_.continuing_prefix : "") + std::string(character);
      if (ends) decorated += options_.end_of_word;
      character = decorated;
    }
    if (const TokenId id = vocabulary_.id_of(character); id != kNoToken) {
      write_unknown();
      symbols.push_back({id, static_cast<uint32_t>(size)});
      continue;
    }
    // The package writes byte tokens before an unknown that is still open; so do we.
    if (options_.byte_fallback && fall_back_to_bytes(character, symbols)) continue;
    if (!options_.unknown_token) continue;
    if (unknown_id_ == kNoToken) throw unknown_is_no_token(*options_.unknown_token);
    if (!options_.fuse_unknown) write_unknown();
    unknown_size += static_cast<uint32_t>(size);
  }
  write_unknown();
}

void BpeModel::merge(std::vector<Symbol>& symbols) const {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShort) {
    merge_short(symbols);
  } else {
    merge_long(symbols);
  }
}

void BpeModel::merge_short(std::vector<Symbol>& symbols) const {
  Merge pairs[kShort];  // of symbols i and i + 1
  size_t count = symbols.size() - 1;
  for (size_t i = 0; i < count; ++i) pairs[i] = merges_.find(symbols[i].id, symbols[i + 1].id);
  while (count > 0) {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == kNoMerge) break;
    symbols[best] = {pairs[best].merged, symbols[best].size + symbols[best + 1].size};
    std::copy(symbols.begin() + static_cast<long>(best) + 2, symbols.begin() + static_cast<long>(count) + 1,
              symbols.begin() + static_cast<long>(best) + 1);
    std::copy(pairs + best + 1, pairs + count, pairs + best);
    --count;
    if (best > 0) pairs[best - 1] = merges_.find(symbols[best - 1].id, symbols[best].id);
    if (best < count) pairs[best] = merges_.find(symbols[best].id, symbols[best + 1].id);
  }
  symbols.resize(count + 1);
}

void BpeModel::merge_long(std::vector<Symbol>& symbols) const {
  struct Links {
    uint32_t previous, next;
    Merge pair;  // with the next one
  };
  const auto end = static_cast<uint32_t>(symbols.size());
  std::vector<Links> links(end);
  std::vector<uint64_t> candidates;  // rank and position: the smallest is the leftmost of the lowest rank
  const auto candidate = [](uint32_t rank, uint32_t position) { return uint64_t{rank} << 32 | position; };
  for (uint32_t i = 0; i < end; ++i) {
    links[i] = {i - 1, i + 1, {kNoMerge, 0}};
    if (i + 1 < end) links[i].pair = merges_.find(symbols[i].id, symbols[i + 1].id);
    if (links[i].pair.rank != kNoMerge) candidates.push_back(candidate(links[i].pair.rank, i));
  }
  std::priority_queue queue(std::greater<>(), std::move(candidates));
  const auto renew = [&](uint32_t i) {
    links[i].pair = merges_.find(symbols[i].id, symbols[links[i].next].id);
    if (links[i].pair.rank != kNoMerge) queue.push(candidate(links[i].pair.rank, i));
  };
  while (!queue.empty()) {
    const auto rank = static_cast<uint32_t>(queue.top() >> 32), i = static_cast<uint32_t>(queue.top());
    queue.pop();
    if (symbols[i].size == 0 || links[i].pair.rank != rank) continue;  // it has changed since
    const uint32_t swallowed = links[i].next;
    symbols[i] = {links[i].pair.merged, symbols[i].size + symbols[swallowed].size};
    symbols[swallowed].size = 0;
    links[i].next = links[swallowed].next;
    links[i].pair.rank = kNoMerge;
    if (links[i].next < end) {
      links[links[i].next].previous = i;
      renew(i);
    }
    if (i > 0) renew(links[i].previous);
  }
  drop_swallowed(symbols);
}

}  // namespace hftrain::tokenizer
