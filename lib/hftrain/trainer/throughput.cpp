#include "hftrain/trainer/throughput.h"

namespace hftrain::trainer {
namespace {

constexpr double kSpanSeconds = 3;

}  // namespace

void Throughput::add(int64_t tokens, double seconds) {
  now_ = {tokens, seconds};
  if (!from_) from_ = between_ = now_;
  if (seconds - between_->seconds < kSpanSeconds) return;
  from_ = between_;
  between_ = now_;
}

std::optional<double> Throughput::tokens_per_second() const {
  if (!from_ || now_.seconds <= from_->seconds) return std::nullopt;
  return static_cast<double>(now_.tokens - from_->tokens) / (now_.seconds - from_->seconds);
}

}  // namespace hftrain::trainer
