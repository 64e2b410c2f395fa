#include "hftrain/data/encode_pool.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "byte_tokenizer.h"
#include "hftrain/base/error.h"
#include "hftrain/tokenizer/encoding_stop.h"
#include "support/catch.h"

namespace {

std::atomic<int> g_threads_left{-1};  // that the system gives; -1: as many as it has

}  // namespace

// In place of the library's, for this whole program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const real = reinterpret_cast<Create*>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (g_threads_left == 0) return EAGAIN;
  if (g_threads_left > 0) --g_threads_left;
  return real(thread, attributes, start, argument);
}

namespace hftrain::data {
namespace {

class FewThreads {
 public:
  explicit FewThreads(int count) { g_threads_left = count; }
  ~FewThreads() { g_threads_left = -1; }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
};

RowChunk chunk_of(const std::string& text) {
  RowChunk chunk;
  chunk.records.begin_row("rows", 1);
  chunk.records.set_text(chunk.records.slot(0), text);
  return chunk;
}

std::unique_ptr<Encoder> text_encoder() {
  return packed_text("clm").encoder(std::make_shared<const testing::ByteTokenizer>(), Split::kTrain, {});
}

TEST_CASE("tokenising goes on with the threads that the system gives") {
  const std::unique_ptr<Encoder> encoder = text_encoder();
  const FewThreads two(2);
  EncodePool pool(*encoder, 8);
  for (const char* text : {"a", "b", "c", "d"}) pool.give(chunk_of(text));
  for (const int id : {'a', 'b', 'c', 'd'})
    CHECK(pool.take()->features.columns.front().integers == std::vector<tokenizer::TokenId>{256, id});
}

TEST_CASE("a system that gives no thread is told, and nothing is terminated") {
  const std::unique_ptr<Encoder> encoder = text_encoder();
  const FewThreads none(0);
  try {
    const EncodePool pool(*encoder, 4);
    FAIL("it was started");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK_THAT(error.render(), Catch::Contains("ulimit -u"));
  }
}

// As a text that is as long as one likes.
class EndlessEncoder final : public Encoder {
 public:
  mutable std::atomic<bool> begun = false;

  FeatureSchema schema() const override { return {{kInputIds, FeatureType::kTokenIds}}; }
  void encode(const Records&, Features&) const override {
    begun = true;
    for (tokenizer::StopWatch watch;;) watch.next_piece();
  }
};

TEST_CASE("whoever stops does not wait for a text that is being encoded") {
  const EndlessEncoder encoder;
  std::atomic<bool> stop = false;
  EncodePool pool(encoder, 2, &stop);
  pool.give(chunk_of("x"));
  while (!encoder.begun) std::this_thread::yield();
  stop = true;
  CHECK_FALSE(pool.take());
}  // and its end gives the text up

}  // namespace
}  // namespace hftrain::data
