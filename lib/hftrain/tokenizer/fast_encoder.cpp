#include "hftrain/tokenizer/fast_encoder.h"

#include <utility>

#include "hftrain/tokenizer/fast_run.h"
#include "hftrain/tokenizer/fast_sinks.h"

namespace hftrain::tokenizer {
namespace {

// Makes room in an encoding without tokens for those that text is mostly made of, so that it need not grow.
void reserve_tokens(Encoding& encoding, size_t bytes) {
  constexpr size_t kBytesPerToken = 4;
  const size_t tokens = bytes / kBytesPerToken + 8;
  encoding.ids.reserve(tokens);
  encoding.tokens.reserve(tokens);
  encoding.offsets.reserve(tokens);
  encoding.word_ids.reserve(tokens);
}

// Takes back what a run has added before it gave up.
void cut_back(Encoding& encoding, size_t size) {
  encoding.ids.resize(size);
  encoding.tokens.resize(size);
  encoding.offsets.resize(size);
  encoding.word_ids.resize(size);
}

}  // namespace

size_t mark_at(std::string_view text, size_t i) {
  if (text[i] == ' ') return 1;
  if (text[i] != kSpaceMark[0]) return 0;
  return text.compare(i, kSpaceMark.size(), kSpaceMark) == 0 ? kSpaceMark.size() : 0;
}

size_t marked_piece_end(std::string_view text, size_t from, bool cut_every_mark, bool after_mark) {
  size_t i = from;
  while (i < text.size()) {
    const size_t mark = mark_at(text, i);
    if (mark > 0 && i > from && (cut_every_mark || !after_mark)) return i;
    after_mark = mark > 0;
    i += mark > 0 ? mark : 1;
  }
  return i;
}

struct FastEncoder::Workspace {
  PieceCache ids;
  TokenCache tokens;
  FastBuffers buffers;
};

FastEncoder::FastEncoder(FastPlan plan, const FastParts& parts) : plan_(plan), parts_(parts) {}

FastEncoder::~FastEncoder() = default;

std::unique_ptr<const FastEncoder> FastEncoder::make(const Normalizer* normalizer,
                                                     const PreTokenizer* pre_tokenizer, const Model& model,
                                                     const AddedTokens& added_tokens) {
  const FastParts parts{normalizer, pre_tokenizer, model, dynamic_cast<const BpeModel*>(&model),
                        added_tokens};
  const auto plan = FastPlan::of(parts);
  if (!plan) return nullptr;
  return std::unique_ptr<const FastEncoder>(new FastEncoder(*plan, parts));
}

template <typename Use>
bool FastEncoder::with_workspace(Use use) const {
  std::unique_ptr<Workspace> workspace = borrow();
  const bool done = use(*workspace);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(workspace));
  return done;
}

bool FastEncoder::encode(std::string_view text, std::vector<TokenId>& ids) const {
  const size_t before = ids.size();
  const bool done = with_workspace([&](Workspace& workspace) {
    IdSink sink(workspace.ids, ids);
    return FastRun(plan_, parts_, workspace.buffers, sink).encode(text);
  });
  if (!done) ids.resize(before);
  return done;
}

bool FastEncoder::encode(std::string_view text, const CharacterOffsets& offsets, int32_t word,
                         Encoding& encoding) const {
  const size_t before = encoding.size();
  if (before == 0) reserve_tokens(encoding, text.size());
  const bool done = with_workspace([&](Workspace& workspace) {
    EncodingSink sink(workspace.tokens, offsets, word, encoding);
    return FastRun(plan_, parts_, workspace.buffers, sink).encode(text);
  });
  if (!done) cut_back(encoding, before);
  encoding.type_ids.resize(encoding.size(), 0);
  encoding.attention_mask.resize(encoding.size(), 1);
  encoding.special_tokens_mask.resize(encoding.size(), 0);
  return done;
}

std::unique_ptr<FastEncoder::Workspace> FastEncoder::borrow() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Workspace> workspace = std::move(idle_.back());
      idle_.pop_back();
      return workspace;
    }
  }
  return std::make_unique<Workspace>();
}

}  // namespace hftrain::tokenizer
