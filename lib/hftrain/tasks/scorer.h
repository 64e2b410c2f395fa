// What evaluation keeps of a model's output, and who judges it. No tensors: tasks are tested without a model.
//
//   resolve:  Scoring scoring = row.scoring(input, facts);      what is kept, which metrics there will be
//   worker:   auto scorer = row.scorer(scorer_input);           one for each evaluation and rank
//             scorer->add(batch); …                             a rank's own samples, each once
//             whole->merge(state of rank 0); …                  on every rank, in the order of ranks
//             whole->results(), whole->files("predict")
//
// A task whose outputs are too much to keep until the end has a scorer that goes in pieces: the states of some
// samples of all ranks are merged while the evaluation goes on, and the whole judges and forgets what it can.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/growing_file.h"
#include "hftrain/base/json.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/dataset.h"
#include "hftrain/metrics/metric.h"

namespace hftrain::tasks {

enum class OutputForm {
  kLossOnly,  // nothing
  kBestIds,   // the place of the largest number of the last dimension: classes, tags, tokens. Found on the
              // device; of a vocabulary chunk by chunk, so that its logits never stand in memory whole
  kScores,    // all of them, as float32: regression, several labels at once, ends of answers
  kTexts,  // none, but ids of the text that the model writes for each row, behind what its decoder begins with
};

// Some rows of a tensor, one after the other.
struct RowValues {
  std::string name;               // as models take it (labels, attention_mask, …); "output" of the output
  std::vector<int64_t> sizes;     // of one row; empty: it is a single number
  std::span<const int64_t> ids;   // of tensors of whole numbers
  std::span<const float> scores;  // of the others

  int64_t row_size() const;
};

// Outputs of samples; those that only fill a round up, so that every rank has a batch, are cut off.
struct OutputBatch {
  std::span<const int64_t> samples;  // the rows' places in the split, 0 … its size - 1
  // kBestIds: ids; sizes {T} of language models and tags, {} of classes. kScores: scores; {L}, or {T, 2}. kTexts: ids;
  // sizes {T}, with -100 behind a text that is shorter.
  RowValues output;
  std::vector<RowValues> labels;  // --label_names, in that order; none where the split has none
  // As --include_for_metrics asks; else empty.
  std::vector<RowValues> inputs;  // all other columns of the batch
  std::span<const float> losses;  // for each row the mean loss of its batch

  // By name; null when it is not there.
  const RowValues* label(std::string_view name) const;
};

// Where files of results go, and how their names begin: eval or predict.
struct ResultPlace {
  std::string folder;
  std::string prefix;
};

// A file of results, to be put into the output folder.
struct ResultFile {
  std::string name;
  std::string text;
  std::shared_ptr<GrowingFile> grown = nullptr;  // in the place of a text: written already, and to be kept
};

// So many samples a scorer that goes in pieces keeps at least before its state is merged.
inline constexpr int64_t kSamplesOfPiece = 1024;

// One for each evaluation and rank, used by one thread.
class Scorer {
 public:
  virtual ~Scorer() = default;
  // Batches come in the order of the rank's samples. An Error (exit code 4) for data that cannot be judged.
  virtual void add(const OutputBatch& batch) = 0;
  // All that was added, as numbers; merge() takes in that of another scorer made with the same input.
  virtual std::vector<double> state() const = 0;
  virtual void merge(std::span<const double> state) = 0;
  // Whether state() may be merged while batches still come, in their order, so that nobody keeps all; forget()
  // drops what was merged.
  virtual bool goes_in_pieces() const { return false; }
  virtual void forget() {}
  // Said, before anything is added or merged, to the one scorer that gets all samples. `place`: files() is going
  // to be asked for, and they are to stand there; null: it is not.
  virtual void expect_all(const ResultPlace* /*place*/) {}
  // Keys without a prefix. The same whatever ranks the samples were on; those of files() in their order.
  virtual metrics::MetricResults results() const = 0;
  // Whether results() are of something though the batches had no labels: the dataset knows what is right.
  virtual bool judges_by_itself() const { return false; }
  // Of the whole split; asked for once, on rank 0. `prefix`: eval or predict.
  virtual std::vector<ResultFile> files(std::string_view /*prefix*/) const { return {}; }
};

// What a task's evaluation is, known before the run.
struct Scoring {
  OutputForm outputs = OutputForm::kLossOnly;
  std::vector<std::string> metrics;      // keys that results() gives where the split has labels
  int64_t bytes_per_sample = 0;          // of state(), for metrics
  int64_t bytes_per_pending_sample = 0;  // more, of as many as a piece has: kSamplesOfPiece
  int64_t bytes_per_written_sample = 0;  // more, where files() is going to be asked for
  bool writes_files = false;             // files() gives some, of samples of one split at least
  Json options = Json::object();         // for the maker of the scorer; part of the plan
};

struct ScorerInput {
  const Json& options;       // Scoring::options
  const Json& model_config;  // config.json of the run
  std::string tokenizer_folder;
  std::shared_ptr<const data::Dataset> dataset;
  data::Split split = data::Split::kValidation;
  bool mismatched = false;  // the second set of that split
  bool writes = false;      // files() is going to be asked for
};

}  // namespace hftrain::tasks
