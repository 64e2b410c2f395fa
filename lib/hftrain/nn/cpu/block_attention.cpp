#include "hftrain/nn/cpu/block_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "hftrain/nn/cpu/cross_entropy_kernel.h"
#include "hftrain/nn/cpu/vectorised.h"

namespace hftrain::nn::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kMostQueries = 96;                  // of a block: tiles of 12 rows
constexpr int64_t kLeastQueries = 12;                 // of a block
constexpr int64_t kBlockScores = int64_t{128} << 10;  // 512 KiB of them

// Memory of a thread that is kept between calls.
struct AttentionMemory {
  std::vector<float> scores, slopes, sums, of_head, of_group;
};

AttentionMemory& own_memory() {
  thread_local AttentionMemory memory;
  return memory;
}

float* room(std::vector<float>& memory, int64_t count) {
  if (static_cast<int64_t>(memory.size()) < count) memory.resize(static_cast<size_t>(count));
  return memory.data();
}

// Queries `first` … and the keys [low, high) that some of them may see.
struct QueryBlock {
  int64_t first, count, low, high;
  int64_t keys() const { return high - low; }
};

// Keys [low, high) that a query may see by its order.
struct Sight {
  int64_t low, high;
};

Sight sight_of(const BlockAttention& a, int64_t row, int64_t query) {
  if (!a.causal) return {0, a.keys};
  const int64_t high = std::min(a.keys, query + 1);
  const int64_t begin = a.begins == nullptr ? 0 : a.begins[row * a.queries + query];
  return {std::max(begin, high - a.window), high};
}

int64_t queries_of_a_block(const BlockAttention& a) {
  const int64_t reach = a.causal ? std::min(a.keys, std::min(a.window, a.keys) + kMostQueries) : a.keys;
  const int64_t fitting = kBlockScores / reach / kLeastQueries * kLeastQueries;
  return std::clamp(fitting, kLeastQueries, kMostQueries);
}

// Queries from `first` on of one document.
QueryBlock block_at(const BlockAttention& a, int64_t row, int64_t first, int64_t most) {
  int64_t count = std::min(most, a.queries - first);
  if (a.begins != nullptr) {
    const int64_t* here = a.begins + row * a.queries + first;
    count = std::find_if(here, here + count, [&](int64_t begin) { return begin != *here; }) - here;
  }
  return {first, count, sight_of(a, row, first).low, sight_of(a, row, first + count - 1).high};
}

// The numbers of a head from place `first` on as a matrix of places · width, or of width · places.
AnyMatrix places_of(const BlockAttention& a, const Heads& x, int64_t row, int64_t head, int64_t first) {
  const int64_t at = row * x.row + head * x.head + first * x.place;
  return {static_cast<const char*>(x.data) + at * (a.wide ? 4 : 2), a.wide, x.place, 1};
}

AnyMatrix transposed(const AnyMatrix& matrix) {
  return {matrix.data, matrix.wide, matrix.column, matrix.row};
}

AnyMatrix scores_view(const float* scores, int64_t stride) {
  return {scores, true, stride, 1};
}

// out = left·right or added to it. Of bfloat16 a float32 operand is rounded.
void product(const BlockAttention& a, const ProductSize& size, const AnyMatrix& left, const AnyMatrix& right,
             bool add, float* out, int64_t stride) {
  if (a.wide) {
    const MatrixView l{static_cast<const float*>(left.data), left.row, left.column};
    const MatrixView r{static_cast<const float*>(right.data), right.row, right.column};
    sgemm(size, l, r, nullptr, add, out, stride);
  } else {
    bgemm(size, left, right, nullptr, add, {out, true, stride});
  }
}

// Hidden places of a row get the score −∞.
void hide(const BlockAttention& a, const QueryBlock& block, int64_t row, int64_t query, float* scores) {
  const Sight sight = sight_of(a, row, query);
  std::fill(scores, scores + (sight.low - block.low), -kInfinity);
  std::fill(scores + (sight.high - block.low), scores + block.keys(), -kInfinity);
  if (a.seen == nullptr) return;
  const bool* seen = a.seen + row * a.keys + block.low;
  for (int64_t j = 0; j < block.keys(); ++j) scores[j] = seen[j] ? scores[j] : -kInfinity;
}

HFTRAIN_VECTORISED float greatest_score(const float* scores, int64_t n) {
  float best = -kInfinity;
#pragma omp simd reduction(max : best)
  for (int64_t i = 0; i < n; ++i) best = scores[i] > best ? scores[i] : best;
  return best;
}

// exp(scale·score − shift) in place of the scores; their sum.
HFTRAIN_VECTORISED float weigh(float* scores, int64_t n, float scale, float shift) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const float weight = fast_exp(scores[i] * scale - shift);
    scores[i] = weight;
    sum += weight;
  }
  return sum;
}

// slopes = scale·weight·(slope − mean).
HFTRAIN_VECTORISED void slope_scores(float* slopes, const float* weights, int64_t n, float scale,
                                     float mean) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) slopes[i] = scale * weights[i] * (slopes[i] - mean);
}

HFTRAIN_VECTORISED void multiply_by(float* numbers, int64_t n, float factor) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) numbers[i] *= factor;
}

HFTRAIN_VECTORISED void add_to(float* sums, const float* numbers, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sums[i] += numbers[i];
}

HFTRAIN_VECTORISED float dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// One row's numbers of a head as float32: where they lie, or in `memory`.
const float* in_float32(const BlockAttention& a, const AnyMatrix& x, float* memory) {
  if (a.wide) return static_cast<const float*>(x.data);
  widen(static_cast<const uint16_t*>(x.data), memory, a.width);
  return memory;
}

// `count` numbers to element `at` of a tensor of the operands' dtype.
void write(const BlockAttention& a, const float* numbers, int64_t count, void* tensor, int64_t at) {
  if (a.wide) {
    std::copy_n(numbers, count, static_cast<float*>(tensor) + at);
  } else {
    round_to_bfloat16(numbers, static_cast<uint16_t*>(tensor) + at, count);
  }
}

// The rows of `numbers` as places from `first` on of a contiguous tensor [rows, places, heads, width].
void write_places(const BlockAttention& a, const float* numbers, int64_t count, int64_t places, int64_t heads,
                  int64_t row, int64_t head, int64_t first, void* tensor) {
  for (int64_t i = 0; i < count; ++i) {
    write(a, numbers + i * a.width, a.width, tensor, ((row * places + first + i) * heads + head) * a.width);
  }
}

// A query's scores become the weights of its keys, not yet divided by their sum.
struct Softmax {
  float factor, log_sum;  // 1 / sum
};

Softmax soften(float* scores, int64_t n, float scale) {
  const float greatest = greatest_score(scores, n) * scale;
  // A score that is no number is not greater than anything, and is not looked over.
  if (greatest == -kInfinity && std::none_of(scores, scores + n, [](float x) { return std::isnan(x); })) {
    std::fill_n(scores, n, 0.0f);
    return {0.0f, kInfinity};
  }
  const float sum = weigh(scores, n, scale, greatest);
  return {1.0f / sum, greatest + std::log(sum)};
}

void attend_block(const BlockAttention& a, const QueryBlock& block, int64_t row, int64_t head, void* out,
                  float* log_sums, AttentionMemory& memory) {
  const int64_t keys = block.keys(), of_key = head / (a.heads / a.key_heads);
  float* scores = room(memory.scores, block.count * keys);
  product(a, {block.count, keys, a.width}, places_of(a, a.query, row, head, block.first),
          transposed(places_of(a, a.key, row, of_key, block.low)), false, scores, keys);
  std::vector<float> factors(static_cast<size_t>(block.count));
  for (int64_t i = 0; i < block.count; ++i) {
    hide(a, block, row, block.first + i, scores + i * keys);
    const Softmax softmax = soften(scores + i * keys, keys, a.scale);
    factors[i] = softmax.factor;
    log_sums[(row * a.heads + head) * a.queries + block.first + i] = softmax.log_sum;
  }
  float* sums = room(memory.sums, block.count * a.width);
  product(a, {block.count, a.width, keys}, scores_view(scores, keys),
          places_of(a, a.value, row, of_key, block.low), false, sums, a.width);
  for (int64_t i = 0; i < block.count; ++i) multiply_by(sums + i * a.width, a.width, factors[i]);
  write_places(a, sums, block.count, a.queries, a.heads, row, head, block.first, out);
}

// The weights of a block again, and in memory.slopes the gradients of its scores.
void slopes_of_block(const BlockAttention& a, const BlockGradients& g, const QueryBlock& block, int64_t row,
                     int64_t head, AttentionMemory& memory) {
  const int64_t keys = block.keys(), of_key = head / (a.heads / a.key_heads);
  const ProductSize size{block.count, keys, a.width};
  float* weights = room(memory.scores, block.count * keys);
  float* slopes = room(memory.slopes, block.count * keys);
  product(a, size, places_of(a, a.query, row, head, block.first),
          transposed(places_of(a, a.key, row, of_key, block.low)), false, weights, keys);
  product(a, size, places_of(a, g.gradient, row, head, block.first),
          transposed(places_of(a, a.value, row, of_key, block.low)), false, slopes, keys);
  std::vector<float> line(static_cast<size_t>(2 * a.width));
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t query = block.first + i;
    hide(a, block, row, query, weights + i * keys);
    weigh(weights + i * keys, keys, a.scale, g.log_sums[(row * a.heads + head) * a.queries + query]);
    const float* gradient = in_float32(a, places_of(a, g.gradient, row, head, query), line.data());
    const float* out = in_float32(a, places_of(a, g.out, row, head, query), line.data() + a.width);
    slope_scores(slopes + i * keys, weights + i * keys, keys, a.scale, dot(gradient, out, a.width));
  }
}

// Adds what a block gives to the gradients of its keys and values [2, keys, width], and writes that of its queries.
void gradients_of_block(const BlockAttention& a, const BlockGradients& g, const QueryBlock& block,
                        int64_t row, int64_t head, float* of_head, AttentionMemory& memory) {
  slopes_of_block(a, g, block, row, head, memory);
  const int64_t keys = block.keys(), of_key = head / (a.heads / a.key_heads);
  const AnyMatrix weights = scores_view(memory.scores.data(), keys);
  const AnyMatrix slopes = scores_view(memory.slopes.data(), keys);
  const ProductSize of_keys{keys, a.width, block.count};
  product(a, of_keys, transposed(weights), places_of(a, g.gradient, row, head, block.first), true,
          of_head + (a.keys + block.low) * a.width, a.width);
  product(a, of_keys, transposed(slopes), places_of(a, a.query, row, head, block.first), true,
          of_head + block.low * a.width, a.width);
  float* sums = room(memory.sums, block.count * a.width);
  product(a, {block.count, a.width, keys}, slopes, places_of(a, a.key, row, of_key, block.low), false, sums,
          a.width);
  write_places(a, sums, block.count, a.queries, a.heads, row, head, block.first, g.of_query);
}

void gradients_of_head(const BlockAttention& a, const BlockGradients& g, int64_t row, int64_t head,
                       float* of_head, AttentionMemory& memory) {
  const int64_t most = queries_of_a_block(a);
  std::fill_n(of_head, 2 * a.keys * a.width, 0.0f);
  for (int64_t first = 0; first < a.queries;) {
    const QueryBlock block = block_at(a, row, first, most);
    gradients_of_block(a, g, block, row, head, of_head, memory);
    first += block.count;
  }
}

void write_key_head(const BlockAttention& a, const BlockGradients& g, const float* sums, int64_t row,
                    int64_t key_head) {
  write_places(a, sums, a.keys, a.keys, a.key_heads, row, key_head, 0, g.of_key);
  write_places(a, sums + a.keys * a.width, a.keys, a.keys, a.key_heads, row, key_head, 0, g.of_value);
}

}  // namespace

bool prefers_block_attention(bool wide, int64_t reach) {
  // In float32 blocks have too few queries beyond it to pay for packed keys.
  constexpr int64_t kLongest = 4096;
  return prefers_sgemm() && (wide ? reach <= kLongest : has_bgemm());
}

void attend_blocks(const BlockAttention& a, void* out, float* log_sums, int64_t begin, int64_t end) {
  AttentionMemory& memory = own_memory();
  const int64_t most = queries_of_a_block(a);
  for (int64_t task = begin; task < end; ++task) {
    for (int64_t first = 0; first < a.queries;) {
      const QueryBlock block = block_at(a, task / a.heads, first, most);
      attend_block(a, block, task / a.heads, task % a.heads, out, log_sums, memory);
      first += block.count;
    }
  }
}

void attend_blocks_backward(const BlockAttention& a, const BlockGradients& g, int64_t begin, int64_t end) {
  AttentionMemory& memory = own_memory();
  const int64_t group = a.heads / a.key_heads, numbers = 2 * a.keys * a.width;
  for (int64_t task = begin; task < end; ++task) {
    const int64_t row = task / a.key_heads, key_head = task % a.key_heads, first = key_head * group;
    float* sums = room(memory.of_group, numbers);
    gradients_of_head(a, g, row, first, sums, memory);
    for (int64_t head = first + 1; head < first + group; ++head) {
      float* of_head = room(memory.of_head, numbers);
      gradients_of_head(a, g, row, head, of_head, memory);
      add_to(sums, of_head, numbers);
    }
    write_key_head(a, g, sums, row, key_head);
  }
}

void attend_heads_backward(const BlockAttention& a, const BlockGradients& g, float* of_heads, int64_t begin,
                           int64_t end) {
  AttentionMemory& memory = own_memory();
  const int64_t numbers = 2 * a.keys * a.width;
  for (int64_t task = begin; task < end; ++task) {
    gradients_of_head(a, g, task / a.heads, task % a.heads, of_heads + task * numbers, memory);
  }
}

void add_heads_backward(const BlockAttention& a, const BlockGradients& g, float* of_heads, int64_t begin,
                        int64_t end) {
  const int64_t group = a.heads / a.key_heads, numbers = 2 * a.keys * a.width;
  for (int64_t task = begin; task < end; ++task) {
    float* sums = of_heads + task * group * numbers;  // heads of a key head stand together
    for (int64_t i = 1; i < group; ++i) add_to(sums, sums + i * numbers, numbers);
    write_key_head(a, g, sums, task / a.key_heads, task % a.key_heads);
  }
}

}  // namespace hftrain::nn::cpu
