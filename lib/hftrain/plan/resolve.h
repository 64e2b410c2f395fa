// Arguments, machine, model and data in; RunPlan out. Everything that divides, defaults from the world size,
// chooses a strategy or estimates memory is here. Pure: no files, no clock, no GPU; the same input gives the
// same plan.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/arguments/derive.h"
#include "hftrain/arguments/parse.h"
#include "hftrain/base/disk_space.h"
#include "hftrain/base/environment.h"
#include "hftrain/base/error.h"
#include "hftrain/plan/job_agents.h"
#include "hftrain/plan/model_facts.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/plan/topology.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::plan {

// One prepared split, or an estimate of it in a dry run.
struct SplitFacts {
  std::string cache_path;
  int64_t samples = 0;
  int64_t tokens = 0;
  bool exact = false;
  std::vector<std::string> columns = {"input_ids"};
  int64_t largest_token_id = 0;  // 0: of an estimate, too
  int64_t longest = 0;           // tokens of the longest sample; 0: nobody knows
};

struct DataFacts {
  std::optional<SplitFacts> train, validation, test;  // unset: unknown
  Json of_task;  // what its recipe's survey found in the training rows (labels)
  std::optional<SplitFacts> validation_mismatched = std::nullopt, test_mismatched = std::nullopt;
  std::optional<data::StreamSpec> stream = std::nullopt;  // in the place of `train`
  std::string training_key = {};                          // data::PreparedData
};

struct NamedSplit {
  const std::optional<SplitFacts>* facts;
  const char* name;
};
std::array<NamedSplit, 5> splits_of(const DataFacts& data);

// Of the run that a checkpoint is from.
struct SavedRun {
  int world_size = 1;        // 0: nobody knows
  int64_t global_train = 0;  // samples of one update; 0: nobody knows
  // From its trainer_state.json, by the names of the flags: intervals in updates and the batch of a rank.
  // What the file lacks is not there.
  std::map<std::string, int64_t> settings = {};
  std::string transformers_version = {};  // of its config.json; empty: not named
  std::string optimizer = {};             // in --optim; "own": a program brought it; empty: nobody knows
  std::optional<std::map<std::string, std::string>> optimizer_options =
      {};                                // --optim_args; unset: nobody knows
  bool options_are_its_own = false;      // the checkpoint says them, not a plan that lies beside it
  std::string schedule = {};             // the same of --lr_scheduler_type
  std::optional<bool> token_types = {};  // whether its batches had them; unset: nobody knows
};

struct ResolveInput {
  const arguments::ParseOutcome& parsed;
  const Topology& topology;
  const ModelFacts& model;
  const Environment& environment;
  DataFacts data;
  std::string output_dir;              // absolute
  std::string run_label;               // TensorBoard's sub-folder, "Nov21_12-00-00_host"
  std::string resume_from;             // a verified checkpoint folder; empty: start fresh
  std::optional<uint64_t> free_bytes;  // on the file system of output_dir; unset: unknown
  std::string hftrain_version;
  std::string arguments_json;
  // Of the folders that state is offloaded to; unset: there is no such folder, or its disk is unknown.
  std::optional<DiskSpace> parameters_disk, optimizer_disk;
  std::vector<AgentFacts> agents;  // of the job, by number; empty: this machine alone, and `topology` is all
  // Of the checkpoint to resume from. When the number of ranks is another one, the global batch is kept by as
  // many micro-batches as that takes, or by larger or smaller ones, where these flags were left to their
  // defaults.
  std::optional<SavedRun> saved = std::nullopt;
  // Micro-batch that --auto_find_batch_size has come to; unset: per_device_train_batch_size.
  std::optional<int64_t> found_batch = std::nullopt;
  std::optional<PluginPlan> plugin = std::nullopt;  // of --plugin, read and found fitting
  // The agents are of machines that `--machines` describes: what does not fit there is a mistake of the plan.
  bool elsewhere = false;
  bool output_has_weights = false;  // of a model, in output_dir
};

// What cannot be done is refused with all reasons at once; the exit code is that of the first (2 or 3, 5 to 7
// for what certainly does not fit in memory or on the disk, 4 for data without a batch and for files of the model or the tokenizer
// that do not suit; 2 for memory elsewhere).
RunPlan resolve(const ResolveInput& input);

// What the user should know of a plan that resolve accepted: the mask, threads, estimates that look too
// large.
std::vector<Diagnostic> plan_notes(const ResolveInput& input, const RunPlan& plan);

// Tokens per sample where rows are packed, needed before the data can be prepared. Rule of run_clm.
int64_t block_size(const arguments::ParseOutcome& parsed, const ModelFacts& model);
// That a length which was asked for is cut to `length`, which the tokenizer or the model allows.
std::vector<Diagnostic> notes_of_length(const arguments::ParseOutcome& parsed, int64_t length);

// What the task of these arguments decides from.
tasks::TaskInput task_input(const arguments::ParseOutcome& parsed, const ModelFacts& model);
// The task that --task names.
const tasks::TaskRow& task_row(const arguments::ParseOutcome& parsed);

// An Error (exit code 2) that names every chosen flag of another task. Before data are opened: what they lack may follow from such a flag.
void require_flags_of_task(const arguments::ParseOutcome& parsed);

// Samples come in an order that depends on their lengths.
bool looks_at_lengths(const arguments::DataArguments& data);

using arguments::wants_training;
// Validation data are needed: a final evaluation, evaluations while training, or one at the start.
bool wants_validation(const arguments::ParseOutcome& parsed);

}  // namespace hftrain::plan
