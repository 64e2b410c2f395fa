#include "hftrain/trainer/streamed_rounds.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/data/sample_stream.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::trainer {
namespace {

using data::MemorySample;

// The part of the files that a rank reads, neighbours as datasets' shard() gives them out.
std::vector<data::FileStamp> files_of_rank(const std::vector<data::FileStamp>& files, size_t rank,
                                           size_t ranks) {
  const size_t share = files.size() / ranks, more = files.size() % ranks;
  const size_t begin = share * rank + std::min(rank, more);
  const auto first = files.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(share + (rank < more ? 1 : 0))};
}

data::StreamSource source_of(const plan::RunPlan& plan, const comm::Communicator& communicator) {
  data::StreamSource source{.spec = *plan.data.stream};
  const auto rank = static_cast<size_t>(communicator.rank());
  if (source.spec.by_files)
    source.spec.files =
        files_of_rank(source.spec.files, rank, static_cast<size_t>(communicator.world_size()));
  source.recipe = tasks::row_of(plan.data.task).recipe_again(source.spec.recipe);
  source.encoder = source.recipe.encoder(tokenizer::Tokenizer::load(source.spec.tokenizer_folder),
                                         data::Split::kTrain, nullptr);
  const bool planned_here = plan.ranks.ranks.at(rank).agent == 0;
  source.time = planned_here ? data::ChangedTime::kMatters : data::ChangedTime::kIsIgnored;
  return source;
}

// Of a round; where ranks have files of their own the others' are no concern of this one.
data::SamplerOptions sampler_of_stream(const plan::RunPlan& plan, const comm::Communicator& communicator) {
  data::SamplerOptions options;
  options.samples = std::numeric_limits<int64_t>::max();
  options.sampling = data::Sampling::kSequential;
  options.batch_size = plan.batch.per_device_train;
  options.drop_last = plan.data.drop_last;
  if (plan.data.stream->by_files) return options;
  options.rank = communicator.rank();
  options.world_size = communicator.world_size();
  options.split_batches = plan.data.split_batches;
  options.dispatched = plan.data.dispatch_batches;
  return options;
}

class StreamedRounds final : public RoundSource {
 public:
  StreamedRounds(const plan::RunPlan& plan, comm::Communicator& communicator, Reads reads,
                 std::function<void(const std::string&)> tell)
      : plan_(plan),
        communicator_(communicator),
        reads_(reads),
        tell_(std::move(tell)),
        by_files_(plan.data.stream->by_files),
        sampler_(sampler_of_stream(plan, communicator)) {
    if (reads != Reads::kNothing) source_ = source_of(plan, communicator);
  }

  void seek(const DataPosition& position, std::optional<data::DrawnOrder>) override {
    stream_.reset();
    position_ = position;
    agreed_end_.reset();
    through_ = false;
  }

  bool ready() override { return stream_ && !by_files_ && stream_->has(round()); }

  bool at_end() override {
    if (!by_files_) return own_end();
    if (!agreed_end_) {
      // A rank whose data cannot be read says so when the others know whether there is another round.
      bool ended = false;
      std::exception_ptr failure;
      try {
        begin();
        ended = through_ || own_end();
      } catch (const Error&) {
        failure = std::current_exception();
      }
      const bool any = communicator_.maximum(ended ? 1 : 0) == 1,
                 all = communicator_.maximum(ended ? 0 : 1) == 0;
      agreed_end_ = sampler_.drop_last ? any : all;
      if (failure && !*agreed_end_) std::rethrow_exception(failure);
    }
    return *agreed_end_;
  }

  BatchRound next() override {
    begin();
    agreed_end_.reset();
    if (by_files_) return next_of_own_files();
    const int64_t count = stream_->wait_for(round());
    std::vector<MemorySample> samples = stream_->take(count);
    auto batches = data::stream_round(sampler_, next_, count);
    if (next_ == sampler_.skip) start_ = samples;
    if (count < round() && next_ > sampler_.skip)
      samples.insert(samples.begin(), start_.begin(), start_.end());
    next_ += count;
    if (reads_ == Reads::kOwn) batches = {batches.at(static_cast<size_t>(communicator_.rank()))};
    return {.dataset = data::dataset_of(source_.spec.columns, samples), .batches = std::move(batches)};
  }

  std::optional<int64_t> batches() const override { return std::nullopt; }

  void mark(DataPosition& position) override {
    if (!stream_ || by_files_) return;
    const data::StreamMark mark = stream_->mark_before(sampler_.skip + position.batch * round());
    position.rows = mark.rows;
    position.row_samples = mark.samples;
  }

  // As in the Trainer, for which an epoch without a length has all updates of the run.
  double share_done(const DataPosition& position) const override {
    const int64_t samples =
        plan_.batch.global_train / plan_.batch.accumulation_steps;  // of all ranks in a round
    const double batches = static_cast<double>(position.before) / static_cast<double>(samples) +
                           static_cast<double>(position.batch);
    return batches / static_cast<double>(plan_.steps.batches_per_epoch);
  }

 private:
  int64_t round() const { return sampler_.round(); }

  // Nothing is left of what this rank reads.
  bool own_end() {
    begin();
    const int64_t count = stream_->wait_for(round());
    const bool end = count == 0 || (sampler_.drop_last && count < round());
    if (end) say_what_was_read();
    if (end && stream_->position() == 0) throw no_batch(count);
    return end;
  }

  std::unique_ptr<data::SampleStream> open(data::StreamMark mark) const {
    const int64_t rounds = plan_.data.loader_workers * plan_.data.prefetch_factor + 2;
    return std::make_unique<data::SampleStream>(source_, rounds * round(), mark);
  }

  void begin() {
    if (stream_) return;
    if (by_files_) return begin_own_files();
    sampler_.skip = position_.before;
    start_.clear();
    const int64_t place = position_.before + position_.batch * round();
    const data::StreamMark mark{position_.rows, position_.row_samples};
    const bool completes = sampler_.world_size > 1 && !sampler_.drop_last;
    if (completes && mark.samples > sampler_.skip) start_ = first_round(*open({}));
    stream_ = open(mark);
    if (completes && position_.batch > 0 && start_.empty()) start_ = first_round(*stream_);
    pass_to(*stream_, place);
    next_ = stream_->position();
    // In the same data it is the end of the epoch, whose last round was counted as a whole one of another size.
    if (position_.of_other_data && place - next_ >= round()) throw too_short(place);
  }

  void begin_own_files() {
    next_ = 0;
    stream_ = open({});
    const int64_t place = position_.before / communicator_.world_size() + position_.batch * round();
    while (next_ < place) take_on(std::min(place - next_, round()));
  }

  // The samples that a last round is completed from.
  std::vector<MemorySample> first_round(data::SampleStream& stream) const {
    pass_to(stream, sampler_.skip);
    return stream.take(stream.wait_for(round()));
  }

  // Those of a round that the stream ended in are fewer.
  void pass_to(data::SampleStream& stream, int64_t number) const {
    while (stream.position() < number) {
      const int64_t here = stream.wait_for(std::min(number - stream.position(), round()));
      if (here == 0) break;
      stream.take(here);
    }
  }

  // Who is through with its files begins them again; the numbers of samples go on.
  std::vector<MemorySample> take_on(int64_t count) {
    std::vector<MemorySample> taken;
    while (static_cast<int64_t>(taken.size()) < count) {
      const int64_t here = stream_->wait_for(count - static_cast<int64_t>(taken.size()));
      if (here == 0) {
        if (stream_->position() == 0) throw no_batch(0);
        through_ = true;
        stream_ = open({});
        continue;
      }
      for (MemorySample& sample : stream_->take(here)) taken.push_back({next_++, std::move(sample.columns)});
    }
    return taken;
  }

  BatchRound next_of_own_files() {
    const std::vector<MemorySample> samples = take_on(round());
    std::vector<int64_t> batch;
    for (const MemorySample& sample : samples) batch.push_back(sample.number);
    return {.dataset = data::dataset_of(source_.spec.columns, samples), .batches = {std::move(batch)}};
  }

  void say_what_was_read() {
    if (told_) return;
    told_ = true;
    for (const std::string& remark : source_.encoder->remarks()) tell_("the training data: " + remark);
  }

  Error no_batch(int64_t samples) const {
    const int64_t tokens = stream_->tokens_seen();
    Error error(ExitCode::kData, "there is no batch in the training data");
    error.where(source_.spec.files.front().path);
    if (samples > 0)
      return error
          .why(std::to_string(samples) +
               " samples are less than one batch of every rank, and "
               "dataloader_drop_last drops them")
          .hint("a smaller batch, or --dataloader_drop_last false");
    if (tokens == 0)
      return error.why("they have no row that gives a sample; empty ones do not count")
          .hint("see whether this is the file that is meant");
    return error
        .why(with_thousands(tokens) + " tokens do not fill one sample of " +
             with_thousands(plan_.data.block_size))
        .hint("choose a smaller " + std::string(source_.recipe.length_flag) + ", or add data");
  }

  Error too_short(int64_t place) const {
    return Error(ExitCode::kData, "the training data end before the place where the run goes on")
        .where(source_.spec.files.back().path)
        .why("the run has used " + with_thousands(place) + " samples of this epoch, and there are " +
             with_thousands(stream_->position()))
        .hint("give the files that the run began with; or --ignore_data_skip, which begins the epoch again");
  }

  const plan::RunPlan& plan_;
  comm::Communicator& communicator_;
  const Reads reads_;
  std::function<void(const std::string&)> tell_;
  const bool by_files_;
  data::SamplerOptions sampler_;  // skip: the sample that the first round of the epoch sought begins with
  data::StreamSource source_;     // of a rank that reads
  DataPosition position_;
  std::unique_ptr<data::SampleStream> stream_;  // of the epoch sought, once something was asked
  std::vector<MemorySample> start_;             // of its first round
  int64_t next_ = 0;                            // the sample that the next round begins with
  std::optional<bool> agreed_end_;              // by all ranks, of the next round
  bool through_ = false;                        // with files of its own, which it has begun again
  bool told_ = false;
};

}  // namespace

std::unique_ptr<RoundSource> streamed_rounds(const plan::RunPlan& plan, comm::Communicator& communicator,
                                             Reads reads, std::function<void(const std::string&)> tell) {
  return std::make_unique<StreamedRounds>(plan, communicator, reads, std::move(tell));
}

int ranks_with_files(const plan::RunPlan& plan) {
  return plan.data.stream && plan.data.stream->by_files ? plan.ranks.world_size : 0;
}

void check_ranks_with_files(const plan::RunPlan& plan, int saved) {
  const int here = ranks_with_files(plan);
  if (here == saved) return;
  const auto said = [](int ranks) {
    return ranks > 0 ? std::to_string(ranks) + " ranks read files of their own"
                     : std::string("no rank reads files of its own");
  };
  throw Error(ExitCode::kUsage, "the files of a stream are not dealt out again in the middle of them")
      .where(plan.saving.resume_from)
      .why("in the run that saved it " + said(saved) + ", and here " + said(here))
      .hint(saved > 0
                ? "go on with " + std::to_string(saved) +
                      " ranks and dispatch_batches false, or begin the epoch again with --ignore_data_skip"
                : "go on with dispatch_batches true, or begin the epoch again with --ignore_data_skip");
}

}  // namespace hftrain::trainer
