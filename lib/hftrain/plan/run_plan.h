// The RunPlan: what will happen, as plain values. `resolve` makes it from Arguments, Topology and facts about
// model and data; the front program writes it to <output_dir>/hftrain/plan.json; every worker reads that file
// and nothing else. It is serialised member by member (run_plan_json.cpp), so a plan can be read, compared
// and hashed.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/architectures/adapter.h"
#include "hftrain/base/json.h"
#include "hftrain/data/collator.h"
#include "hftrain/data/stream_spec.h"
#include "hftrain/images/preprocessor.h"
#include "hftrain/tasks/scorer.h"
#include "hftrain/tasks/task.h"

namespace hftrain::plan {

enum class DeviceKind { kCpu, kCuda };

// One rank and where it runs.
struct RankPlan {
  int rank = 0;
  int local_rank = 0;
  int node = 0;
  DeviceKind device = DeviceKind::kCpu;
  int ordinal = -1;          // position in CUDA_VISIBLE_DEVICES; -1 on CPU
  std::string device_name;   // "cpu" or the GPU's name
  std::string device_uuid;   // empty on CPU
  int threads = 1;           // intra-op threads
  int agent = 0;             // of the front programs of the job, the one that starts it
  int local_world_size = 1;  // ranks of its node
  int ranks_on_machine = 1;  // of all nodes there
};

struct RanksPlan {
  int world_size = 1;
  int local_world_size = 1;  // of the node with most ranks
  int nodes = 1;             // places that save: machines, or the output folders on each
  int ranks_on_machine = 1;  // of the machine with most ranks: they share its memory, cores and disks
  int machines = 1;
  std::string backend = "gloo";    // shm | gloo | nccl | mpi; none at world_size 1
  int64_t timeout_seconds = 1800;  // deadline of collective operations
  std::vector<RankPlan> ranks;
};

// Parameters that are gathered, reduced and freed together.
struct UnitPlan {
  std::string name;             // "embeddings", "block.0", …, "head"; "model" when all is one unit
  std::vector<int> parameters;  // positions in the architecture's parameter table, tied ones once
  bool reshard_after_forward = false;
  int64_t numbers = 0;  // of its parameters
};

// Files of state that is offloaded to NVMe, and how they are read and written.
struct NvmePlan {
  std::string parameters_path, optimizer_path;  // folders; empty: not on NVMe
  int64_t block_bytes = 1 << 20;                // of one request
  int64_t queue_depth = 8;                      // requests in flight
  int64_t buffer_bytes = 400'000'000;           // of one staging buffer
  int64_t buffer_count = 4;
  bool pipeline_read = true, pipeline_write = true;
};

struct StrategyPlan {
  // single | ddp | zero1 | shard_grad_op | full_shard | hybrid_shard | hybrid_shard_zero2
  std::string name = "single";
  int stage = 0;  // of ZeRO: 0 nothing, 1 optimizer, 2 and gradients, 3 and parameters
  int mesh_replicate =
      1;  // mesh_replicate * mesh_shard == world_size; ranks of one shard group are neighbours
  int mesh_shard = 1;
  std::string offload_parameters = "none";  // none | cpu | nvme
  std::string offload_optimizer = "none";   // none | cpu | nvme
  NvmePlan nvme;
  std::vector<UnitPlan> units;  // in forward order; every parameter is in exactly one
  // Sharded strategies
  std::string backward_prefetch = "pre";  // pre | post | none: when the next unit of backward is gathered
  bool forward_prefetch = false;
  bool limit_all_gathers = true;
  std::string reduce_dtype = "float32";  // of gradients on their way between ranks
  std::string state_dict =
      "full";  // full | sharded | local: model weights in checkpoints; an adapter is full
  int64_t full_parameter_limit = 0;  // parameters of fewer numbers are never sharded; 0: all are
  std::vector<std::string> ignored;  // names of parameters that are not sharded either, rising
  // DDP
  bool find_unused_parameters = false;
  std::optional<bool> static_graph;
  int64_t bucket_cap_mb = 25;  // MiB

  bool sharded() const { return stage > 0; }
};

// What rows that a file does not have begin as.
enum class GrowthKind {
  kTokens,     // near the mean of the others (checkpoint/added_rows.h)
  kPositions,  // as in a new model
  kZeros,
  kMean,  // of the others
};

// A parameter with more rows than the file that it is loaded from: the tokenizer has more ids than the model had
// embeddings, or samples are longer than its positions.
struct GrownParameter {
  std::string name;
  std::vector<int64_t> shape_before;
  GrowthKind kind = GrowthKind::kTokens;
};

// An adapter: what is trained in the place of the weights, which stay as they are.
struct AdapterPlan {
  architectures::AdapterSpec spec;
  std::string folder;  // that holds its weights; empty: they start anew
  std::string config;  // text of the adapter_config.json that is saved
};

// Which operators run in one pass where the model family has such a form: those that may be chosen alone, the loss with the
// product before it, and the rest.
struct FusedKernels {
  bool rope = true, swiglu = true, geglu = true, rms_norm = true, loss = true, rest = true;
  bool own = true;  // by kernels of ours where the device has them; else of LibTorch's operators alone
};

struct ModelPlan {
  std::string source_folder;        // transformers folder to load weights from; empty: from scratch
  std::string hub_name;             // of that model; empty: a path was named
  std::string weights_mark;         // of those weights (storage/weights_mark.h); empty: it is not compared
  std::string model_type;           // the family, as config.json names it
  Json config;                      // the complete config.json content the run uses
  std::string generation_config;    // text of the generation_config.json that is saved
  std::string preprocessor_config;  // text of the preprocessor_config.json that is saved; empty: none
  std::string tokenizer_folder;     // whose files are copied beside every saved model; may be empty
  Json tokenizer_settings = Json::object();  // keys of its tokenizer_config.json that are saved otherwise
  std::string chat_template;                 // that is saved in the place of its own; empty: its own
  std::string master_dtype = "float32";
  std::string tied_dtype =
      "float32";           // in which copies of a tied matrix in the source folder's files are the same
  int64_t parameters = 0;  // numbers, tied tensors once
  int64_t trainable_parameters = 0;
  int64_t non_embedding_parameters = 0;  // for total_flos
  bool ignore_mismatched_sizes = false;  // of the source folder: such weights start anew
  std::vector<GrownParameter> grown;     // when loaded from the source folder, in the table's order
  std::vector<int> frozen;               // positions in the parameter table, rising: they are not trained
  std::optional<AdapterPlan> adapter;  // of the parameter table; nothing but it and what is trained is saved
  bool gradient_checkpointing = false;
  int64_t checkpoint_every_n_layers = 1;
  bool checkpoint_offload = false;  // what a recomputed block keeps lies in host memory
  double neftune_noise_alpha = 0;   // 0: off
  FusedKernels fused_kernels;
};

// How the loss scale of float16 moves (optim::LossScale says what each value does). The defaults are torch's.
struct LossScalePlan {
  double initial = 65536;
  bool dynamic = true;
  int64_t growth_interval = 2000;  // good updates in a row
  int64_t hysteresis = 1;          // overflows
  bool refill = false;
  double minimum = 0;
};

struct PrecisionPlan {
  std::string compute = "float32";  // float32 | bfloat16 | float16: dtype of the forward pass
  bool gradient_scaler = false;     // true with float16
  LossScalePlan loss_scale;
  std::optional<bool> tf32;
  std::string eval = "";  // bfloat16 | float16 with *_full_eval, else empty
};

// One prepared split: samples in a memory-mapped cache.
struct SplitPlan {
  std::string cache_path;  // prefix of the .bin/.idx pairs; empty until prepared
  int64_t samples = 0;     // 0 until known
  int64_t tokens = 0;
  bool exact = false;  // false: an estimate (only in --dry_run)
  std::vector<std::string> columns = {"input_ids"};
};

struct DataPlan {
  tasks::Task task = tasks::Task::kCausalLm;
  std::string dataset_name;  // as --dataset_name has it; empty: files were named
  int64_t block_size = 0;    // tokens of a sample, or at most so many where rows stay as they are
  int64_t target_size = 0;   // tokens that the decoder reads of a sample, or at most so many; 0: as many
  std::optional<images::Preprocessor> preprocessor;  // of samples that are such
  data::PaddingOptions padding;                 // of batches; no columns: samples are blocks of one length
  std::optional<data::MaskingOptions> masking;  // unset: no token is hidden
  bool joins_samples = false;  // of a training batch into one row, none of which sees another
  // --streaming: nobody has prepared the training rows, and `train` says no more than the columns of their samples.
  std::optional<data::StreamSpec> stream;
  std::optional<SplitPlan> train;
  std::string training_key;  // a hash of what the training samples are made of; empty where it is not known
  std::optional<SplitPlan> validation;
  std::optional<SplitPlan> test;
  // Second sets, of texts from other sources: for the evaluation and the prediction at the end.
  std::optional<SplitPlan> validation_mismatched;
  std::optional<SplitPlan> test_mismatched;
  uint64_t seed = 42;  // of the data order
  // random | sequential | group_by_length | batch_rebalance | sortish | longest_first
  std::string sampling = "random";
  bool drop_last = false;
  bool even_batches = true;
  bool split_batches = false;
  bool dispatch_batches = false;  // of training: rank 0 reads and sends
  // The order depends on seed and epoch alone; else it is drawn from the random numbers of the run where draws_order().
  bool seedable_sampler = true;
  int64_t loader_workers = 0;  // threads per rank
  int64_t prefetch_factor = 2;
  bool pin_memory = true;
  bool ignore_data_skip = false;

  bool gives_token_types() const;
  // Of training by so many ranks, from the random numbers of the run. Only several ranks have a grouped one that the Trainer's
  // can be: on one it takes that from the global generator, whatever was drawn of it before.
  bool draws_order(int64_t ranks) const;
  // Whether what a model reads has one shape in every batch, but for the last.
  bool has_rows_of_one_length() const { return padding.columns.empty() && !joins_samples; }
};

struct BatchPlan {
  int64_t per_device_train = 8;
  int64_t per_device_eval = 8;
  int64_t accumulation_steps = 1;
  int64_t global_train = 8;  // per_device_train * accumulation_steps * world_size
  bool average_tokens_across_devices = true;
  bool sync_each_batch =
      false;  // gradients are reduced in every micro-batch, not in the last of an update alone

  // Of an update; the others keep their gradients to themselves.
  bool reduces_last_alone() const { return accumulation_steps > 1 && !sync_each_batch; }
};

// Of a stream: sys.maxsize, as the Trainer has it.
inline constexpr int64_t kEndlessEpochs = std::numeric_limits<int64_t>::max();

struct StepsPlan {
  int64_t batches_per_epoch = 0;  // L, per rank
  int64_t updates_per_epoch = 0;  // U
  int64_t max_steps = 0;          // T
  int64_t epochs = 0;             // ceil(T / U) or ceil(num_train_epochs)
  bool limited_by_steps =
      false;  // --max_steps: epochs have no say, also where a resumed run began with others
  double num_train_epochs = 3.0;
  int64_t samples_for_speed = 0;  // num_train_samples of the Trainer
  double expected_seconds = 0;    // expected_time.h; 0: not known
};

struct OptimizerPlan {
  std::string name = "adamw_torch_fused";
  double learning_rate = 5e-5;
  double weight_decay = 0.0;
  bool decays_all = false;  // norms and biases, too, which are left alone otherwise
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double max_grad_norm = 1.0;  // 0: no clipping
  double label_smoothing = 0.0;
  bool loss_by_probability = false;            // of tokens: -p·log p instead of -log p, p without gradient
  std::map<std::string, std::string> options;  // optim_args, checked

  // Of the group of parameters that decay, and of that of norms and biases.
  std::vector<double> weight_decays() const { return {weight_decay, decays_all ? weight_decay : 0.0}; }
};

struct SchedulePlan {
  std::string name = "linear";
  int64_t warmup_steps = 0;
  Json options = Json::object();  // lr_scheduler_kwargs, checked
};

// When something happens: "no", every `steps` updates, at the end of each epoch, or (saving) at each new
// best.
struct IntervalPlan {
  std::string strategy = "no";  // no | steps | epoch | best
  int64_t steps = 0;            // absolute

  // As trainer_state.json has it, which knows no other strategy: 500 where it is not in steps.
  int64_t recorded_steps() const { return steps > 0 || strategy == "steps" ? steps : 500; }
};

struct LoggingPlan {
  IntervalPlan interval;
  bool first_step = false;
  bool nan_inf_filter = true;
  std::vector<std::string> report_to;  // tensorboard, csv, …; jsonl is always written
  std::string tensorboard_dir;
  std::string run_name;
  std::string project = "huggingface";    // of Trackio
  std::string count_input_tokens = "no";  // no | all | non_padding
  bool memory_metrics = false;
  std::string level = "info", replica_level = "warning";
  bool on_each_node = true;    // `level` is that of local rank 0 of every node, not only of rank 0
  std::string arguments_json;  // all arguments as JSON text, for trackers

  // Of a rank's own messages.
  const std::string& level_of(const RankPlan& rank) const {
    return (on_each_node ? rank.local_rank == 0 : rank.rank == 0) ? level : replica_level;
  }
};

struct EvaluationPlan {
  IntervalPlan interval;
  double delay = 0;
  bool on_start = false;
  bool at_end = false;                // --do_eval
  std::string metric_for_best_model;  // the full key, eval_…; empty: none
  bool greater_is_better = false;
  bool load_best_at_end = false;
  std::optional<int64_t> early_stopping_patience;
  double early_stopping_threshold = 0;
  tasks::OutputForm outputs = tasks::OutputForm::kLossOnly;  // what is kept of the model's output
  Json scoring = Json::object();                             // options of the task's scorer
  std::vector<std::string> label_columns = {"labels"};       // of a batch, in this order
  bool gives_inputs = false, gives_losses = false;           // to the scorer, beside outputs and labels
  int64_t accumulation_steps = 1;  // batches whose outputs stay on the device before they are handed over
  bool joins_batches = true;       // of those, to one
  bool shows_running_metrics = false;
  int64_t kept_bytes = 0;  // of one scorer of the whole of a split, at most
  // How texts are written, in the form of a generation_config.json; null: none are.
  Json generation = nullptr;
};

struct SavingPlan {
  IntervalPlan interval;
  std::optional<int64_t> total_limit;  // unset: keep all
  bool only_model = false;
  bool for_trainer = false;   // with the files that transformers' Trainer goes on from
  bool asynchronous = false;  // written in the background from a copy in memory
  std::string resume_from;    // a verified checkpoint folder; empty: start fresh
  bool restore_callbacks = false;
  // It goes on as if it had never ended: with its callbacks as they were, and not at all where early stopping had ended it.
  bool same_run = false;
  std::string
      repository;  // its name on the Hub, without the owner, as asked for; empty: that of the output folder
  // Nodes whose output folder is their own (save_on_each_node), without node 0: local rank 0 of each commits
  // there what rank 0 commits in node 0's.
  std::vector<int> further_nodes;
  int64_t max_shard_bytes = 50'000'000'000;
};

// Bytes of one rank by kind, from the plan's arithmetic (rank_memory.h).
struct MemoryPlan {
  int64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0, buffers = 0, total = 0;
  int64_t evaluation = 0;  // in the place of gradients' activations, while the model is evaluated
  int64_t reused =
      0;  // on a GPU: of gradients what comes where activations and buffers were; in the parts, and not in the total
  int64_t host = 0;  // of these, in host memory while the rank computes on a GPU
  int64_t saving =
      0;  // more, on rank 0, while a checkpoint is written; from the first one on when asynchronous
};

struct DiskPlan {
  int64_t checkpoint_bytes = 0;  // one checkpoint
  int64_t checkpoints_kept = 0;  // including the one in flight; -1: grows without limit
  int64_t needed_bytes = 0;
  int64_t free_bytes = 0;  // below 0: unknown
  int64_t nvme_bytes = 0;  // offloaded state of all ranks of the node
};

// The updates whose operators are written down as a trace (--profile_steps).
struct ProfilePlan {
  int64_t first = 0, last = 0;  // counted from 1; 0: none
};

// A shared library of the user's that every rank loads.
struct PluginPlan {
  std::string name;  // as it calls itself
  std::string path;  // absolute
  std::string hash;  // of the file: all ranks load the same one
};

inline constexpr int kRunPlanSchema = 1;

struct RunPlan {
  int schema = kRunPlanSchema;
  std::string hftrain_version;
  std::string output_dir;  // absolute
  bool do_train = true, do_eval = false, do_predict = false;
  bool rehearse = false;  // before the first update, what comes only now and then (rehearsed.h)
  uint64_t seed = 42;
  bool full_determinism = false;
  int64_t empty_cache_steps = 0;  // updates from one emptying of the allocator's cache to the next; 0: never
  bool detect_overflow = false;   // the first module with numbers that are not finite ends the run
  ProfilePlan profile;
  std::optional<PluginPlan> plugin;
  int64_t release = 51700;  // of transformers, whose habits the run has, as arguments/compat.h numbers them
  RanksPlan ranks;
  StrategyPlan strategy;
  ModelPlan model;
  PrecisionPlan precision;
  DataPlan data;
  BatchPlan batch;
  StepsPlan steps;
  OptimizerPlan optimizer;
  SchedulePlan schedule;
  LoggingPlan logging;
  EvaluationPlan evaluation;
  SavingPlan saving;
  MemoryPlan memory_per_rank;
  DiskPlan disk;
};

Json to_json_value(const RunPlan& plan);
// `origin` names the source in errors (exit code 1: a plan is never written by a user).
RunPlan run_plan_from_json(const Json& value, const std::string& origin);
// Hash of everything that all ranks must agree on; ranks compare it before training.
std::string plan_hash(const RunPlan& plan);

}  // namespace hftrain::plan
