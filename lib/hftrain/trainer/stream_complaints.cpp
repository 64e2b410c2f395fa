#include "hftrain/trainer/stream_complaints.h"

#include <string>

#include "hftrain/base/text.h"

namespace hftrain::trainer {

Error no_batch_in_stream(const plan::RunPlan& plan, const data::StreamSource& source, int64_t samples,
                         int64_t tokens) {
  Error error(ExitCode::kData, "there is no batch in the training data");
  error.where(source.spec.files.front().path);
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
           with_thousands(plan.data.block_size))
      .hint("choose a smaller " + std::string(source.recipe.length_flag) + ", or add data");
}

Error stream_too_short(const data::StreamSource& source, int64_t place, int64_t there) {
  return Error(ExitCode::kData, "the training data end before the place where the run goes on")
      .where(source.spec.files.back().path)
      .why("the run has used " + with_thousands(place) + " samples of this epoch, and there are " +
           with_thousands(there))
      .hint("give the files that the run began with; or --ignore_data_skip, which begins the epoch again");
}

}  // namespace hftrain::trainer
