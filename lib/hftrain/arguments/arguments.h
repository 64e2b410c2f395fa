// What the user said, as plain values: the command line, configuration files and environment merged, nothing
// derived from the machine, the model or the data. One struct per group of flags; a member has its flag's
// name, and its initialiser is the flag's default (transformers 5.17); only ParallelArguments::sharding and
// deepspeed are made of several flags and files (import/). std::optional means "may be unset". Enumerations are
// their flag's words, already checked against the choices.
//
// Flags that are read into other members, accepted without effect or refused have none of their own:
// they exist in the flag table (flag.h) and, once given, in ParseOutcome::unread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/arguments/deepspeed_options.h"
#include "hftrain/arguments/mappings.h"
#include "hftrain/arguments/parallel_options.h"
#include "hftrain/base/json.h"

namespace hftrain::arguments {

struct OutputArguments {
  std::optional<std::string> output_dir;  // parse_arguments always fills it: "trainer_output" when not given
  bool overwrite_output_dir = false;
};

struct RunArguments {
  std::optional<std::string> task;  // unset: clm
  bool do_train = false;            // parse_arguments sets it with do_eval unless do_predict was given
  bool do_eval = false;             // parse_arguments sets it when eval_strategy is not "no"
  bool do_predict = false;
  int64_t seed = 42;  // 0 .. 2^32-1
  bool full_determinism = false;
  double num_train_epochs = 3.0;
  int64_t max_steps = -1;  // updates; above 0 it wins over num_train_epochs
};

struct BatchArguments {
  int64_t per_device_train_batch_size = 8;  // samples
  int64_t per_device_eval_batch_size = 8;
  int64_t gradient_accumulation_steps = 1;
  bool auto_find_batch_size = false;  // of training, downwards from per_device_train_batch_size
  bool average_tokens_across_devices = true;
  bool dataloader_drop_last = false;
};

struct DataArguments {
  std::optional<std::string> dataset_name;         // a folder, or a name of the hub; in the place of files
  std::optional<std::string> dataset_config_name;  // unset: its default one
  std::vector<std::string> train_file;             // paths or globs; empty: none
  std::vector<std::string> validation_file;
  std::vector<std::string> test_file;
  // Of texts from other sources than the training data: sets of their own beside those above (mnli).
  std::vector<std::string> validation_mismatched_file, test_mismatched_file;
  std::optional<std::string> train_dir,
      validation_dir;                            // of images; stand in train_file and validation_file, too
  std::optional<double> train_val_split = 0.15;  // share of the training images
  std::string image_column_name = "image";
  std::optional<int64_t> max_train_samples;
  std::optional<int64_t> max_eval_samples;
  std::optional<int64_t> max_predict_samples;
  std::optional<int64_t> validation_split_percentage = 5;
  std::optional<int64_t> block_size;  // tokens
  bool keep_linebreaks = true;
  std::optional<std::vector<std::string>> label_names;  // columns of a batch; unset: the task's
  std::optional<std::string> task_name;                 // of GLUE, or a set of tags
  std::optional<int64_t> max_seq_length;                // tokens; unset: the task's
  std::optional<std::string> text_column_name;          // of words; unset: tokens, else the first
  std::optional<std::string> label_column_name;         // of tags or classes; unset: the task's
  bool label_all_tokens = false;
  double mlm_probability = 0.15;
  bool line_by_line = false;
  bool whole_word_mask = false;
  std::optional<bool> pad_to_max_length;  // unset: the task's
  int64_t doc_stride = 128;               // tokens
  bool version_2_with_negative = false;
  std::optional<std::string> text_column;     // of sources; unset: the first
  std::optional<std::string> summary_column;  // of targets; unset: the second
  std::optional<std::string> source_lang, target_lang;
  std::optional<std::string> source_prefix;
  std::optional<std::string> data_dir;  // of .source and .target files, which stand in train_file, … too
  std::optional<std::string> forced_bos_token;      // of the tokenizer
  std::optional<int64_t> max_source_length = 1024;  // tokens; null: the tokenizer's limit
  std::optional<int64_t> max_target_length = 128;   // tokens; the same
  std::optional<int64_t> val_max_target_length;     // tokens; unset: max_target_length
  bool ignore_pad_token_for_loss = true;
  bool overwrite_cache = false;
  bool streaming = false;                            // training rows are read while training
  std::optional<int64_t> preprocessing_num_workers;  // threads; unset: all cores
  std::optional<int64_t> data_seed;                  // unset: seed
  // random | sequential | group_by_length | batch_rebalance
  std::string train_sampling_strategy = "random";
  std::optional<std::string> length_column_name = "length";  // unset: none
  bool sortish_sampler = false;
  bool ignore_data_skip = false;
  int64_t dataloader_num_workers = 0;  // threads per rank
  std::optional<int64_t> dataloader_prefetch_factor;
  bool dataloader_pin_memory = true;  // parse_arguments clears it under use_cpu
};

// Of --task sft: TRL's SFTConfig.
struct InstructionArguments {
  std::string dataset_text_field = "text";        // column of texts
  std::optional<std::string> chat_template_path;  // a file, or a folder with a tokenizer
  std::optional<int64_t> max_length = 1024;       // tokens; null: nothing is cut
  std::string truncation_mode = "keep_start";     // keep_start | keep_end
  bool packing = false;
  std::string packing_strategy = "bfd";  // bfd | bfd_split | wrapped
  bool padding_free = false;
  std::optional<bool> eval_packing;          // unset: as packing
  std::optional<bool> completion_only_loss;  // unset: where rows have a completion
  bool assistant_only_loss = false;
  std::string loss_type = "nll";  // nll | chunked_nll (the same) | dft
  bool activation_offloading = false;
  std::optional<std::string> eos_token;                    // unset: the tokenizer's
  std::optional<std::string> pad_token;                    // unset: the tokenizer's, else eos_token
  std::optional<std::string> pad_to_multiple_of = "auto";  // tokens
  bool shuffle_dataset = false;
  std::optional<int64_t> dataset_num_proc;  // threads; unset: preprocessing_num_workers
  std::optional<ModelInitOptions> model_init_kwargs;
  std::string dataset_train_split = "train";  // of dataset_name
  std::string dataset_test_split = "test";    // what evaluations are of
};

struct OptimizerArguments {
  double learning_rate = 5e-5;
  double weight_decay = 0.0;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_epsilon = 1e-8;
  double max_grad_norm = 1.0;  // 0: no clipping
  std::string optim = "adamw_torch_fused";
  std::optional<std::string> optim_args;  // key=value,key=value
  double label_smoothing_factor = 0.0;
  std::optional<double> neftune_noise_alpha;
};

struct ScheduleArguments {
  std::string lr_scheduler_type = "linear";
  std::optional<Json>
      lr_scheduler_kwargs;  // object of typed values; keys already checked against the schedule
  double warmup_steps = 0;  // >= 1: updates; below 1: share of all updates
};

struct PrecisionArguments {
  bool fp16 = false;
  bool bf16 = false;
  bool fp16_full_eval = false;
  bool bf16_full_eval = false;
  std::optional<bool> tf32;
  bool gradient_checkpointing = false;
  std::optional<GradientCheckpointingOptions> gradient_checkpointing_kwargs;
  bool use_liger_kernel = false;
  std::optional<LigerKernelOptions> liger_kernel_config;
};

struct ModelArguments {
  std::optional<std::string> model_name_or_path;
  std::optional<std::string> model_type;
  std::optional<std::string> config_overrides;  // key=value,key=value
  std::optional<std::string> config_name;
  std::optional<std::string> tokenizer_name;
  std::optional<std::string> image_processor_name;  // a folder
  std::optional<std::string> cache_dir;
  std::string model_revision = "main";
  std::optional<std::string> dtype;  // auto | bfloat16 | float16 | float32
  bool use_cache = false;            // only what config.json says
  bool ignore_mismatched_sizes = false;
  std::optional<bool> resize_position_embeddings;  // unset: where the task does
  bool freeze_embeds = false;
  bool freeze_encoder = false;
};

// LoRA, by the names of TRL's ModelConfig.
struct AdapterArguments {
  bool use_peft = false;
  int64_t lora_r = 16;
  double lora_alpha = 32;
  double lora_dropout = 0.05;
  std::optional<std::vector<std::string>> lora_target_modules;   // unset: the family's
  std::optional<std::vector<std::string>> lora_modules_to_save;  // beside those of a head without text
  bool use_rslora = false;
  std::string lora_task_type = "CAUSAL_LM";
};

struct EvaluationArguments {
  std::string eval_strategy = "no";  // no | steps | epoch
  std::optional<double>
      eval_steps;  // parse_arguments fills it under eval_strategy steps; below 1: share of all updates
  std::optional<double> eval_delay = 0;  // epochs or updates, by strategy
  bool eval_on_start = false;
  bool return_entity_level_metrics = false;
  double null_score_diff_threshold = 0.0;
  int64_t n_best_size = 20;
  int64_t max_answer_length = 30;  // tokens
  bool prediction_loss_only = false;
  std::optional<int64_t> eval_accumulation_steps;  // batches; unset: 1
  bool eval_do_concat_batches = true;
  bool batch_eval_metrics = false;
  std::vector<std::string> include_for_metrics;  // inputs, loss
  bool predict_with_generate = false;
  std::optional<int64_t> generation_max_length;  // tokens; unset: val_max_target_length, …
  std::optional<int64_t> generation_num_beams;   // unset: num_beams
  std::optional<int64_t> num_beams;              // unset: the generation config's
  std::optional<std::string> generation_config;  // a folder, a file or a name on the Hub; unset: the model's
};

struct LoggingArguments {
  std::string logging_strategy = "steps";  // no | steps | epoch
  double logging_steps = 500;              // updates; below 1: share of all updates
  bool logging_first_step = false;
  bool logging_nan_inf_filter = true;
  std::optional<std::string> logging_dir;  // TensorBoard folder
  std::string log_level = "passive";
  std::string log_level_replica = "warning";
  bool log_on_each_node = true;        // local rank 0 of every node has log_level, not only rank 0
  std::optional<bool> disable_tqdm;    // parse_arguments fills it from log_level
  std::vector<std::string> report_to;  // trackers; "none" is empty and "all" is expanded
  std::optional<std::string> run_name;
  std::string project = "huggingface";               // of Trackio
  std::string include_num_input_tokens_seen = "no";  // no | all | non_padding
  bool skip_memory_metrics = true;
};

struct SavingArguments {
  std::string save_strategy = "steps";      // no | steps | epoch | best
  double save_steps = 500;                  // updates; below 1: share of all updates
  std::optional<int64_t> save_total_limit;  // unset, 0 or negative: all are kept
  bool save_only_model = false;
  bool save_for_trainer = false;   // with the files that transformers' Trainer goes on from
  bool async_save = false;         // in the background, from a copy in memory
  std::optional<bool> rehearse;    // unset: when the plan expects more than an hour
  bool save_on_each_node = false;  // every node whose output folder is its own has all files there
  std::optional<bool> load_best_model_at_end = false;
  std::optional<std::string> metric_for_best_model;  // parse_arguments fills it where the rules say "loss"
  std::optional<bool> greater_is_better;             // parse_arguments fills it when there is a metric
  // A folder, "true": the newest in output_dir, or "auto": the same where there is one.
  std::optional<std::string> resume_from_checkpoint;
  bool restore_callback_states_from_checkpoint = false;
  std::optional<int64_t> early_stopping_patience;  // evaluations
  double early_stopping_threshold = 0.0;
};

// What is pushed to the Hub, and where.
struct HubArguments {
  bool push_to_hub = false;
  std::optional<std::string> hub_model_id;              // NAME or ORG/NAME; unset: the output folder's
  std::optional<std::string> push_to_hub_organization;  // of a name without one
  std::optional<std::string> hub_token;                 // never shown
  std::optional<std::string> token;         // the example scripts' word; hub_token counts before it
  bool use_auth_token = false;              // the stored token, whatever the environment says of it
  std::string hub_strategy = "every_save";  // end | every_save | checkpoint | all_checkpoints
  std::optional<bool> hub_private_repo;     // unset: as the owner has chosen for new ones
  bool hub_always_push = false;             // also while a push is going on
  std::optional<std::string> hub_revision;  // a branch; unset: main
};

struct ParallelArguments {
  ParallelOptions sharding;                        // from all the formats that can ask for it (import/)
  std::optional<DeepSpeedOptions> deepspeed;       // of a DeepSpeed file
  std::optional<std::string> ddp_backend;          // nccl | gloo | shm | mpi
  std::optional<bool> ddp_find_unused_parameters;  // unset: true unless activations are recomputed
  std::optional<int64_t> ddp_bucket_cap_mb;        // MiB
  std::optional<bool> ddp_static_graph;
  int64_t ddp_timeout = 1800;  // seconds
  std::optional<AcceleratorOptions> accelerator_config;
};

struct DeviceArguments {
  bool use_cpu = false;
  std::optional<int64_t> torch_empty_cache_steps;  // updates
};

struct DebugArguments {
  std::vector<std::string> debug;            // underflow_overflow
  std::optional<std::string> profile_steps;  // FIRST or FIRST:LAST, updates from 1
};

// Where the ranks are. What contradicts itself is refused by import/launch.h; what the environment makes of
// it is decided by launcher/environments.
struct LaunchArguments {
  std::optional<std::string>
      nproc_per_node;  // a number, gpu, cpu or auto; unset: one per GPU, else cpu_ranks
  std::optional<int64_t>
      cpu_ranks;               // of a machine whose GPUs are not used, under no nproc_per_node; unset: 1
  std::string nnodes = "1:1";  // N or N:N
  int64_t node_rank = 0;
  std::string master_addr = "127.0.0.1";  // parse_arguments fills it from rdzv_endpoint
  int64_t master_port = 29500;            // the same; 0: a free port (one machine)
  std::string rdzv_id = "none";
  std::string rdzv_conf;                  // key=value,key=value
  std::optional<std::string> local_addr;  // of this machine, by which the others reach it
  bool standalone = false;                // one machine, whatever the environment says
  int64_t local_rank = -1;
  std::string tee = "0";        // 0: none, 1: stdout, 2: stderr, 3: both, or rank:n,rank:n
  std::string redirects = "0";  // the same; what is not shown
  std::optional<std::string> log_dir;
  std::optional<std::string> worker_program;  // what ranks are started with; unset: hftrain-worker
  std::string log_ranks = "0";                // ranks whose output is shown: comma-separated numbers, or all
  std::string local_ranks_filter;             // comma-separated local ranks: only of these; empty: of all
  // Lines that contain one of these are also kept in a file for all ranks of a machine.
  std::vector<std::string> duplicate_stdout_filters, duplicate_stderr_filters;
  // A host file, and how its machines are reached.
  std::string hostfile = "/job/hostfile";  // read only when the user gave it
  std::string include, exclude;            // host:slot,slot@host
  int64_t num_nodes = -1;                  // the first N machines; -1: all
  std::string launcher = "pdsh";           // pdsh: ssh
  std::string launcher_args;
  bool no_ssh = false;
  bool no_ssh_check = false;
  bool force_multi = false;
  std::optional<int64_t> ssh_port;
  // How the ranks of a machine are bound to its CPUs; at most one of the three.
  std::optional<std::string> numa_binding;  // node | socket | exclusive | core-complex
  bool enable_cpu_affinity = false;         // as node
  bool bind_cores_to_rank = false;
  std::optional<std::string> bind_core_list;                        // CPUs that the run may use, as 1,3-5
  std::optional<std::string> max_time;                              // see seconds_of in import/launch.h
  int64_t max_restarts = 0;                                         // of the whole group after a failure
  std::string signals_to_handle = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";  // that stop the job
};

// How the front program talks to the user.
struct InterfaceArguments {
  bool smoke = false;
  std::string progress = "auto";         // auto | bar | plain | none
  std::string color = "auto";            // auto | always | never
  bool quiet = false;                    // warnings and errors only
  std::optional<std::string> hf_compat;  // a transformers release
  std::optional<std::string> plugin;     // path of a shared library
};

struct Arguments {
  OutputArguments output;
  RunArguments run;
  BatchArguments batch;
  DataArguments data;
  InstructionArguments instructions;
  OptimizerArguments optimizer;
  ScheduleArguments schedule;
  PrecisionArguments precision;
  ModelArguments model;
  AdapterArguments adapter;
  EvaluationArguments evaluation;
  LoggingArguments logging;
  SavingArguments saving;
  HubArguments hub;
  ParallelArguments parallel;
  DeviceArguments device;
  DebugArguments debug;
  LaunchArguments launch;
  InterfaceArguments interface;
};

}  // namespace hftrain::arguments
