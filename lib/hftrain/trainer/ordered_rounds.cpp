#include <algorithm>
#include <utility>

#include "hftrain/trainer/round_source.h"

namespace hftrain::trainer {
namespace {

class OrderedRounds final : public RoundSource {
 public:
  OrderedRounds(std::shared_ptr<const data::Dataset> dataset, data::SamplerOptions sampler, Reads reads)
      : dataset_(std::move(dataset)),
        sampler_(std::move(sampler)),
        length_group_(sampler_.length_group),
        reads_(reads) {}

  // O(1) in the data: only the order of that epoch is computed, or of a random one that one.
  void seek(const DataPosition& position, std::optional<data::DrawnOrder> drawn) override {
    sampler_.drawn = drawn;
    sampler_.skip = std::min(position.before, sampler_.samples);
    sampler_.length_group = position.length_group > 0 ? position.length_group : length_group_;
    orders_ = {data::epoch_batches(sampler_, position.epoch)};
    for (int rank = 1; reads_ == Reads::kAll && rank < sampler_.world_size; ++rank) {
      data::SamplerOptions other = sampler_;
      other.rank = rank;
      orders_.push_back(data::epoch_batches(other, position.epoch));
    }
    next_ = static_cast<size_t>(position.batch);
  }

  bool ready() override { return true; }
  RoundsLeft left() override {
    return next_ < orders_.front().size() ? RoundsLeft::kSome : RoundsLeft::kNone;
  }

  BatchRound next() override {
    BatchRound round{.dataset = dataset_};
    for (const auto& order : orders_) round.batches.push_back(order[next_]);
    ++next_;
    return round;
  }

  std::optional<int64_t> batches() const override { return static_cast<int64_t>(orders_.front().size()); }

  void mark(DataPosition&) override {}  // any batch can be asked for

  double share_done(const DataPosition& position) const override {
    const auto samples = [&](int64_t count) {
      return static_cast<double>(position.before + count * sampler_.round());
    };
    return samples(position.batch) / samples(*batches());
  }

 private:
  std::shared_ptr<const data::Dataset> dataset_;
  data::SamplerOptions sampler_;
  int64_t length_group_;
  Reads reads_;
  std::vector<std::vector<std::vector<int64_t>>> orders_;  // by rank; of this one alone, or of all
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<RoundSource> ordered_rounds(std::shared_ptr<const data::Dataset> dataset,
                                            data::SamplerOptions sampler, Reads reads) {
  return std::make_unique<OrderedRounds>(std::move(dataset), std::move(sampler), reads);
}

}  // namespace hftrain::trainer
