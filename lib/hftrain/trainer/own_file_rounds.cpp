#include <ATen/ops/empty.h>

#include <exception>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/trainer/rank_stream.h"
#include "hftrain/trainer/stream_complaints.h"
#include "hftrain/trainer/stream_remarks.h"
#include "hftrain/trainer/stream_share.h"
#include "hftrain/trainer/streamed_rounds.h"

namespace hftrain::trainer {
namespace {

using data::MemorySample;

// What the ranks make of what each of them knows of the next round. Collective.
struct RoundVerdict {
  bool any_ended = false, all_ended = false, stops = false;
};
RoundVerdict verdict_of_ranks(comm::Communicator& communicator, bool ended, bool stops) {
  const at::Tensor facts = at::empty({3}, at::kLong);
  int64_t* values = facts.data_ptr<int64_t>();
  values[0] = ended ? 1 : 0;
  values[1] = ended ? 0 : 1;
  values[2] = stops ? 1 : 0;
  communicator.host().all_reduce(facts, comm::Reduction::kMaximum);
  return {.any_ended = values[0] == 1, .all_ended = values[1] == 0, .stops = values[2] == 1};
}

// A round is made when left() is asked, so that ranks wait for data where all of them hear of a stop.
class OwnFileRounds final : public RoundSource {
 public:
  OwnFileRounds(const plan::RunPlan& plan, comm::Communicator& communicator, StreamSurroundings surroundings)
      : plan_(plan),
        communicator_(communicator),
        wait_(std::move(surroundings.wait)),
        source_(source_of_rank(plan, communicator)),
        remarks_(source_.encoder, std::move(surroundings.tell)) {}

  void seek(const DataPosition& position, std::optional<data::DrawnOrder>) override {
    stream_.reset();
    round_.clear();
    ended_.reset();
    left_.reset();
    place_ = {position.begun_again, position.rows, position.row_samples};
    sought_ = position.before / communicator_.world_size() + position.batch * size();
  }

  bool ready() override { return false; }

  RoundsLeft left() override {
    if (left_) return *left_;
    // A rank whose data cannot be read says so when the others know whether there is another round.
    std::exception_ptr failure;
    bool stops = false;
    try {
      stops = !make_round();
    } catch (const Error&) {
      failure = std::current_exception();
    }
    const RoundVerdict all = verdict_of_ranks(communicator_, ended_.value_or(false), stops);
    if (all.stops) return RoundsLeft::kUnknown;
    const bool end = plan_.data.drop_last ? all.any_ended : all.all_ended;
    if (failure && !end) std::rethrow_exception(failure);
    left_ = end ? RoundsLeft::kNone : RoundsLeft::kSome;
    return *left_;
  }

  BatchRound next() override {
    std::vector<int64_t> batch;
    for (const MemorySample& sample : round_) batch.push_back(sample.number);
    BatchRound round{.dataset = data::dataset_of(source_.spec.columns, round_),
                     .batches = {std::move(batch)}};
    round_.clear();
    ended_.reset();
    left_.reset();
    return round;
  }

  std::optional<int64_t> batches() const override { return std::nullopt; }

  void mark(DataPosition& position) override {
    if (!stream_) return;
    const Place place = ended_ ? place_ : here();
    position.begun_again = place.begun_again;
    position.rows = place.rows;
    position.row_samples = place.samples;
  }

  double share_done(const DataPosition& position) const override { return share_of_stream(plan_, position); }

 private:
  // Samples that this rank had of its files when it began them again, and a mark in the pass since.
  struct Place {
    int64_t begun_again = 0, rows = 0, samples = 0;
  };

  int64_t size() const { return plan_.batch.per_device_train; }

  Place here() {
    const data::StreamMark mark = stream_->mark_before(stream_->position());
    return {begun_again_, mark.rows, mark.samples};
  }

  std::unique_ptr<RankStream> open(data::StreamMark mark) const {
    return std::make_unique<RankStream>(source_, samples_ahead(plan_, size()), mark, wait_);
  }

  // False: the run is to stop.
  bool make_round() {
    if (!stream_) {
      begun_again_ = place_.begun_again;
      stream_ = open({place_.rows, place_.samples});
    }
    while (begun_again_ + stream_->position() < sought_) {
      if (!take_on(std::min(sought_ - begun_again_ - stream_->position(), size()), nullptr)) return false;
    }
    if (!ended_) {
      const std::optional<int64_t> count = stream_->wait_for(size());
      if (!count) return false;
      place_ = here();
      const bool end = *count == 0 || (plan_.data.drop_last && *count < size());
      if (end) close_pass(*count);
      ended_ = end || begun_again_ > 0;
    }
    if (*ended_ && plan_.data.drop_last) return true;
    return take_on(size() - static_cast<int64_t>(round_.size()), &round_);
  }

  // Who is through with its files begins them again; the numbers of samples go on. False: the run is to stop.
  bool take_on(int64_t count, std::vector<MemorySample>* taken) {
    while (count > 0) {
      const std::optional<int64_t> here = stream_->wait_for(count);
      if (!here) return false;
      if (*here == 0) {
        close_pass(0);
        begun_again_ += stream_->position();
        stream_ = open({});
        continue;
      }
      // As of rows that come by turns: no two samples of an epoch have one number, by which collators draw.
      int64_t number = begun_again_ + stream_->position();
      for (MemorySample& sample : stream_->take(*here)) {
        const int64_t of_all = number++ * communicator_.world_size() + communicator_.rank();
        if (taken != nullptr) taken->push_back({of_all, std::move(sample.columns)});
      }
      count -= *here;
    }
    remarks_.look(monotonic_seconds());
    return true;
  }

  // This rank has read all of its files; `count`: samples that are left over.
  void close_pass(int64_t count) {
    remarks_.end();
    if (stream_->position() == 0) throw no_batch_in_stream(plan_, source_, count, stream_->tokens_seen());
  }

  const plan::RunPlan& plan_;
  comm::Communicator& communicator_;
  std::shared_ptr<const DataWait> wait_;
  const data::StreamSource source_;
  StreamRemarks remarks_;
  std::unique_ptr<RankStream> stream_;
  int64_t begun_again_ = 0;  // samples of the epoch before this pass through the files
  int64_t sought_ = 0;       // the sample of this rank that its first round begins with
  Place place_;              // before the round at hand
  std::vector<MemorySample> round_;
  std::optional<bool>
      ended_;  // whether all files had been read once before the round at hand; unset: it is not known
  std::optional<RoundsLeft> left_;  // agreed on by all ranks, of that round
};

}  // namespace

std::unique_ptr<RoundSource> rounds_of_own_files(const plan::RunPlan& plan, comm::Communicator& communicator,
                                                 StreamSurroundings surroundings) {
  return std::make_unique<OwnFileRounds>(plan, communicator, std::move(surroundings));
}

}  // namespace hftrain::trainer
