#include "hftrain/trainer/streamed_rounds.h"

#include <limits>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/trainer/rank_stream.h"
#include "hftrain/trainer/stream_complaints.h"
#include "hftrain/trainer/stream_remarks.h"
#include "hftrain/trainer/stream_share.h"

namespace hftrain::trainer {
namespace {

using data::MemorySample;

data::SamplerOptions sampler_of_stream(const plan::RunPlan& plan, const comm::Communicator& communicator) {
  data::SamplerOptions options;
  options.samples = std::numeric_limits<int64_t>::max();
  options.sampling = data::Sampling::kSequential;
  options.batch_size = plan.batch.per_device_train;
  options.drop_last = plan.data.drop_last;
  options.rank = communicator.rank();
  options.world_size = communicator.world_size();
  options.split_batches = plan.data.split_batches;
  options.dispatched = plan.data.dispatch_batches;
  return options;
}

class StreamedRounds final : public RoundSource {
 public:
  StreamedRounds(const plan::RunPlan& plan, const comm::Communicator& communicator, Reads reads,
                 StreamSurroundings surroundings)
      : plan_(plan),
        rank_(static_cast<size_t>(communicator.rank())),
        reads_(reads),
        wait_(std::move(surroundings.wait)),
        sampler_(sampler_of_stream(plan, communicator)),
        source_(reads != Reads::kNothing ? source_of_rank(plan, communicator) : data::StreamSource{}),
        remarks_(source_.encoder, std::move(surroundings.tell)) {}

  void seek(const DataPosition& position, std::optional<data::DrawnOrder>) override {
    stream_.reset();
    position_ = position;
  }

  bool ready() override { return stream_ && stream_->has(round()); }

  RoundsLeft left() override {
    if (!stream_ && !begin()) return RoundsLeft::kUnknown;
    const std::optional<int64_t> count = stream_->wait_for(round());
    if (!count) return RoundsLeft::kUnknown;
    const bool end = *count == 0 || (sampler_.drop_last && *count < round());
    if (end) {
      remarks_.end();
    } else {
      remarks_.look(monotonic_seconds());
    }
    if (end && stream_->position() == 0)
      throw no_batch_in_stream(plan_, source_, *count, stream_->tokens_seen());
    return end ? RoundsLeft::kNone : RoundsLeft::kSome;
  }

  BatchRound next() override {
    std::vector<MemorySample> samples = stream_->take(round());
    const auto count = static_cast<int64_t>(samples.size());
    auto batches = data::stream_round(sampler_, next_, count);
    if (next_ == sampler_.skip) start_ = samples;
    if (count < round() && next_ > sampler_.skip)
      samples.insert(samples.begin(), start_.begin(), start_.end());
    next_ += count;
    if (reads_ == Reads::kOwn) batches = {batches.at(rank_)};
    return {.dataset = data::dataset_of(source_.spec.columns, samples), .batches = std::move(batches)};
  }

  std::optional<int64_t> batches() const override { return std::nullopt; }

  void mark(DataPosition& position) override {
    if (!stream_) return;
    const data::StreamMark mark = stream_->mark_before(sampler_.skip + position.batch * round());
    position.rows = mark.rows;
    position.row_samples = mark.samples;
  }

  double share_done(const DataPosition& position) const override { return share_of_stream(plan_, position); }

 private:
  int64_t round() const { return sampler_.round(); }

  std::unique_ptr<RankStream> open(data::StreamMark mark) const {
    return std::make_unique<RankStream>(source_, samples_ahead(plan_, round()), mark, wait_);
  }

  // Goes to the place that was sought; false: the run is to stop.
  bool begin() {
    sampler_.skip = position_.before;
    start_.clear();
    const int64_t place = position_.before + position_.batch * round();
    const data::StreamMark mark{position_.rows, position_.row_samples};
    const bool completes = sampler_.world_size > 1 && !sampler_.drop_last;
    const bool start_is_behind = mark.samples > sampler_.skip;
    if (completes && start_is_behind && !read_start(*open({}))) return false;
    std::unique_ptr<RankStream> stream = open(mark);
    if (completes && !start_is_behind && position_.batch > 0 && !read_start(*stream)) return false;
    if (!stream->pass_to(place, round())) return false;
    next_ = stream->position();
    // In the same data it is the end of the epoch, whose last round was counted as a whole one of another size.
    if (position_.of_other_data && place - next_ >= round()) throw stream_too_short(source_, place, next_);
    stream_ = std::move(stream);
    return true;
  }

  // The samples of the epoch's first round, from which a last one is completed.
  bool read_start(RankStream& stream) {
    if (!stream.pass_to(sampler_.skip, round())) return false;
    const std::optional<int64_t> count = stream.wait_for(round());
    if (count) start_ = stream.take(*count);
    return count.has_value();
  }

  const plan::RunPlan& plan_;
  const size_t rank_;
  const Reads reads_;
  std::shared_ptr<const DataWait> wait_;
  data::SamplerOptions sampler_;  // skip: the sample that the first round of the epoch sought begins with
  data::StreamSource source_;     // of a rank that reads
  StreamRemarks remarks_;
  DataPosition position_;
  std::unique_ptr<RankStream> stream_;  // of the epoch sought, at its place, once something was asked
  std::vector<MemorySample> start_;     // of its first round
  int64_t next_ = 0;                    // the sample that the next round begins with
};

}  // namespace

std::unique_ptr<RoundSource> streamed_rounds(const plan::RunPlan& plan, comm::Communicator& communicator,
                                             Reads reads, StreamSurroundings surroundings) {
  if (plan.data.stream->by_files) return rounds_of_own_files(plan, communicator, std::move(surroundings));
  return std::make_unique<StreamedRounds>(plan, communicator, reads, std::move(surroundings));
}

double share_of_stream(const plan::RunPlan& plan, const DataPosition& position) {
  const int64_t samples = plan.batch.global_train / plan.batch.accumulation_steps;  // of all ranks in a round
  const double batches = static_cast<double>(position.before) / static_cast<double>(samples) +
                         static_cast<double>(position.batch);
  return batches / static_cast<double>(plan.steps.batches_per_epoch);
}

int64_t samples_ahead(const plan::RunPlan& plan, int64_t round) {
  return (plan.data.loader_workers * plan.data.prefetch_factor + 2) * round;
}

}  // namespace hftrain::trainer
