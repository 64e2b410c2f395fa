#include "hftrain/trainer/stream_share.h"

#include <algorithm>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/data/settled_columns.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::trainer {
namespace {

// The part of the files that a rank reads, neighbours as datasets' shard() gives them out.
std::vector<data::FileStamp> files_of_rank(const std::vector<data::FileStamp>& files, size_t rank,
                                           size_t ranks) {
  const size_t share = files.size() / ranks, more = files.size() % ranks;
  const size_t begin = share * rank + std::min(rank, more);
  const auto first = files.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(share + (rank < more ? 1 : 0))};
}

}  // namespace

data::StreamSource source_of_rank(const plan::RunPlan& plan, const comm::Communicator& communicator) {
  data::StreamSource source{.spec = *plan.data.stream};
  const auto rank = static_cast<size_t>(communicator.rank());
  if (source.spec.by_files)
    source.spec.files =
        files_of_rank(source.spec.files, rank, static_cast<size_t>(communicator.world_size()));
  source.recipe = data::with_settled_columns(tasks::row_of(plan.data.task).recipe_again(source.spec.recipe),
                                             source.spec.read);
  source.encoder = source.recipe.encoder(tokenizer::Tokenizer::load(source.spec.tokenizer_folder),
                                         data::Split::kTrain, nullptr);
  const bool planned_here = plan.ranks.ranks.at(rank).agent == 0;
  source.time = planned_here ? data::ChangedTime::kMatters : data::ChangedTime::kIsIgnored;
  return source;
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
