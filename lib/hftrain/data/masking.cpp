#include "hftrain/data/masking.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "hftrain/data/split_mix.h"

namespace hftrain::data {
namespace {

constexpr int64_t kNoLabel = -100;
constexpr double kMaskShare = 0.8;          // of the chosen tokens
constexpr double kRandomShareOfRest = 0.5;  // 10 % of all

class MaskDraws {
 public:
  MaskDraws(const DrawKey& key, int64_t sample)
      : state_(mixed(mixed(mixed(key.seed) + static_cast<uint64_t>(key.epoch)) +
                     static_cast<uint64_t>(sample))) {}

  enum Purpose : uint64_t { kChosen, kMasked, kReplaced, kWhich, kPurposes };
  bool happens(size_t place, Purpose purpose, double probability) const {
    constexpr double kUnit = 0x1p-53;
    return static_cast<double>(number(place, purpose) >> 11) * kUnit < probability;
  }
  int64_t below(size_t place, Purpose purpose, int64_t bound) const {
    return static_cast<int64_t>(scaled_below(number(place, purpose), static_cast<uint64_t>(bound)));
  }

 private:
  uint64_t number(size_t place, Purpose purpose) const {
    return split_mix(state_ + kSplitMixIncrement * (place * kPurposes + purpose + 1));
  }
  static uint64_t mixed(uint64_t number) { return split_mix(number + kSplitMixIncrement); }

  uint64_t state_;
};

void hide(const MaskedSample& sample, size_t place, const MaskingOptions& options, const MaskDraws& draws) {
  sample.labels[place] = sample.ids[place];
  if (options.whole_words || draws.happens(place, MaskDraws::kMasked, kMaskShare)) {
    sample.ids[place] = options.mask_id;
  } else if (draws.happens(place, MaskDraws::kReplaced, kRandomShareOfRest)) {
    sample.ids[place] = draws.below(place, MaskDraws::kWhich, options.vocabulary);
  }
}

class MaskingCollator final : public Collator {
 public:
  MaskingCollator(PaddingOptions options, const MaskingOptions& masking)
      : on_left_(options.on_left), masking_(masking), padding_(padding_collator(std::move(options))) {}

  std::vector<TensorShape> shapes(const Dataset& dataset, std::span<const int64_t> samples) const override {
    std::vector<TensorShape> shapes = padding_->shapes(dataset, samples);
    shapes.push_back({"labels", TensorType::kInt64, shapes.front().sizes});
    return shapes;
  }

  void fill(const Dataset& dataset, std::span<const int64_t> samples, const DrawKey& key,
            std::span<void* const> memory) const override {
    padding_->fill(dataset, samples, key, memory.first(memory.size() - 1));
    const auto width = static_cast<size_t>(padding_->shapes(dataset, samples).front().sizes[1]);
    auto* ids = static_cast<int64_t*>(memory.front());
    auto* labels = static_cast<int64_t*>(memory.back());
    std::fill_n(labels, width * samples.size(), kNoLabel);
    const ColumnFile& roles = dataset.column(kMaskRoles);
    std::vector<int64_t> of_sample;
    for (size_t row = 0; row < samples.size(); ++row) {
      of_sample.resize(static_cast<size_t>(roles.length(samples[row])));
      roles.copy_to(samples[row], of_sample.data());
      const size_t begin = row * width + (on_left_ ? width - of_sample.size() : 0);
      mask_tokens({{ids + begin, of_sample.size()}, of_sample, {labels + begin, of_sample.size()}}, masking_,
                  key, samples[row]);
    }
  }

 private:
  bool on_left_;
  MaskingOptions masking_;
  std::unique_ptr<Collator> padding_;
};

}  // namespace

void mask_tokens(const MaskedSample& sample, const MaskingOptions& options, const DrawKey& key,
                 int64_t number) {
  const MaskDraws draws(key, number);
  bool chosen = false;
  for (size_t place = 0; place < sample.ids.size(); ++place) {
    sample.labels[place] = kNoLabel;
    const int64_t role = sample.roles[place];
    const bool goes_along = role == kContinuesWord && place > 0 && options.whole_words;
    if (!goes_along)
      chosen = role != kNeverMasked && draws.happens(place, MaskDraws::kChosen, options.probability);
    if (chosen) hide(sample, place, options, draws);
  }
}

std::unique_ptr<Collator> masking_collator(PaddingOptions options, const MaskingOptions& masking) {
  return std::make_unique<MaskingCollator>(std::move(options), masking);
}

}  // namespace hftrain::data
