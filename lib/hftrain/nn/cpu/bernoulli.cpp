#include "hftrain/nn/cpu/bernoulli.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>

#include "hftrain/nn/cpu/vectorised.h"

namespace hftrain::nn::cpu {
namespace {

constexpr int kWords = at::MERSENNE_STATE_N, kMiddle = at::MERSENNE_STATE_M;
constexpr uint64_t kMantissa = (uint64_t{1} << 53) - 1;  // an element's number is a double in [0, 1)

HFTRAIN_INLINE uint32_t twisted(uint32_t u, uint32_t v) {
  const uint32_t mixed = (u & 0x80000000U) | (v & 0x7fffffffU);
  return (mixed >> 1) ^ ((v & 1U) != 0 ? 0x9908b0dfU : 0U);
}

// The next block of words. Each loop reads what is at least 227 words away from what it writes, or not written yet.
HFTRAIN_VECTORISED void next_block(uint32_t* p) {
#pragma GCC ivdep
  for (int j = 0; j < kWords - kMiddle; ++j) p[j] = p[j + kMiddle] ^ twisted(p[j], p[j + 1]);
#pragma omp simd safelen(16)
  for (int j = kWords - kMiddle; j < kWords - 1; ++j)
    p[j] = p[j + kMiddle - kWords] ^ twisted(p[j], p[j + 1]);
  p[kWords - 1] = p[kMiddle - 1] ^ twisted(p[kWords - 1], p[0]);
}

// Of a pair of words the first one is the high half.
HFTRAIN_VECTORISED void compare_pairs(const uint32_t* words, uint64_t bound, uint8_t* out, int64_t pairs) {
  std::array<uint32_t, kWords> tempered;
#pragma omp simd
  for (int64_t i = 0; i < 2 * pairs; ++i) {
    uint32_t y = words[i];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    tempered[i] = y ^ (y >> 18);
  }
  std::array<uint64_t, kWords / 2> joined;
  std::memcpy(joined.data(), tempered.data(), static_cast<size_t>(pairs) * sizeof(uint64_t));
#pragma omp simd
  for (int64_t i = 0; i < pairs; ++i) {
    const uint64_t value = std::rotl(joined[i], 32) & kMantissa;
    out[i] = value < bound ? 1 : 0;
  }
}

// Whether ATen draws by its generator's words, which it does not where MKL's kernels are the quickest. The answer is that
// of a trial: what it depends on is not to be asked for.
bool draws_by_words() {
  static const bool same = [] {
    constexpr int64_t kTrial = 1000;
    at::Generator generator = at::detail::createCPUGenerator(20);
    const at::Tensor theirs = at::empty({kTrial}, at::kByte).bernoulli_(0.3, generator);
    at::mt19937 engine(20);
    std::array<uint8_t, kTrial> mine;
    draw_bernoulli(engine, 0.3, mine.data(), kTrial);
    auto* kept = at::check_generator<at::CPUGeneratorImpl>(generator);
    const bool left_alike = kept->engine().data().state_ == engine.data().state_ &&
                            kept->engine().data().left_ == engine.data().left_;
    return left_alike && std::equal(mine.begin(), mine.end(), theirs.const_data_ptr<uint8_t>());
  }();
  return same && std::endian::native == std::endian::little;
}

}  // namespace

void draw_bernoulli(at::mt19937& engine, double p, uint8_t* out, int64_t count) {
  // v·2^-53 < p, of whole numbers.
  const auto bound = static_cast<uint64_t>(std::ceil(p * static_cast<double>(kMantissa + 1)));
  at::mt19937_data_pod data = engine.data();
  while (count > 0) {
    const int available = data.left_ - 1;
    if (available == 0) {
      next_block(data.state_.data());
      data.left_ = kWords + 1;
      data.next_ = 0;
    } else if (available == 1) {  // a pair of the last word of one block and the first of the next
      engine.set_data(data);
      const uint64_t high = engine(), low = engine();
      data = engine.data();
      *out++ = ((high << 32 | low) & kMantissa) < bound ? 1 : 0;
      --count;
    } else {
      const int64_t pairs = std::min<int64_t>(available / 2, count);
      compare_pairs(data.state_.data() + data.next_, bound, out, pairs);
      data.next_ += static_cast<uint32_t>(2 * pairs);
      data.left_ -= static_cast<int>(2 * pairs);
      out += pairs;
      count -= pairs;
    }
  }
  engine.set_data(data);
}

void draw_bernoulli(double p, uint8_t* out, int64_t count) {
  if (count == 0) return;
  if (!draws_by_words()) {
    at::from_blob(out, {count}, at::kByte).bernoulli_(p);
    return;
  }
  const at::Generator& generator = at::detail::getDefaultCPUGenerator();
  auto* kept = at::check_generator<at::CPUGeneratorImpl>(generator);
  const std::lock_guard<std::mutex> lock(kept->mutex_);
  at::mt19937 engine = kept->engine();
  draw_bernoulli(engine, p, out, count);
  kept->set_engine(engine);
}

}  // namespace hftrain::nn::cpu
