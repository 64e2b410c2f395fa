#include <algorithm>
#include <array>
#include <optional>

#include "hftrain/base/text.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/plan/special_tokens.h"
#include "hftrain/plan/stored_shapes.h"

namespace hftrain::plan {
namespace {

using arguments::PrecisionArguments;

constexpr int kAmpere = 8;  // first compute capability with bfloat16 and TensorFloat-32

bool all_ampere(const ResolveInput& input, const RanksPlan& ranks) {
  for (const RankPlan& rank : ranks.ranks) {
    const VisibleDevice& visible =
        topology_of(input, rank).visible.devices[static_cast<size_t>(rank.ordinal)];
    if (visible.device.compute_major < kAmpere) return false;
  }
  return true;
}

void check_cpu_precision(const ResolveInput& input, Problems& problems) {
  const PrecisionArguments& precision = input.parsed.arguments.precision;
  const arguments::Origins& origins = input.parsed.origins;
  const std::string why = "the ranks run on the CPU, and float16 needs a GPU";
  if (precision.fp16)
    problems.usage("fp16 does not work on the CPU", origins.describe("fp16"), why, "--bf16, or neither");
  if (precision.fp16_full_eval) {
    problems.usage("fp16_full_eval does not work on the CPU", origins.describe("fp16_full_eval"), why,
                   "--bf16_full_eval, or neither");
  }
  if (precision.tf32.value_or(false) && origins.is_given("tf32")) {
    problems.usage("tf32 needs a GPU", origins.describe("tf32"), "the ranks run on the CPU", "leave it out");
  }
}

void check_gpu_precision(const ResolveInput& input, Problems& problems) {
  const PrecisionArguments& precision = input.parsed.arguments.precision;
  const arguments::Origins& origins = input.parsed.origins;
  const std::string why = "it needs compute capability 8.0 (Ampere) or newer on every GPU";
  const auto refuse = [&](const char* flag, bool given) {
    if (given)
      problems.usage(std::string(flag) + " does not work on these GPUs", origins.describe(flag), why,
                     "--fp16");
  };
  refuse("bf16", precision.bf16);
  refuse("bf16_full_eval", precision.bf16_full_eval);
  refuse("tf32", precision.tf32.value_or(false) && origins.is_given("tf32"));
}

std::string master_dtype(const ResolveInput& input) {
  const std::string dtype = input.parsed.arguments.model.dtype.value_or("float32");
  return dtype == "auto" ? input.model.auto_dtype : dtype;
}

std::string compute_dtype(const ResolveInput& input) {
  const PrecisionArguments& precision = input.parsed.arguments.precision;
  if (precision.bf16) return "bfloat16";
  return precision.fp16 ? "float16" : master_dtype(input);
}

// Unset means fused, so false says something here.
bool switches_fusion_off(const ResolveInput& input) {
  return input.parsed.origins.is_given("use_liger_kernel") &&
         !input.parsed.arguments.precision.use_liger_kernel;
}

FusedKernels fused_kernels(const ResolveInput& input) {
  const PrecisionArguments& precision = input.parsed.arguments.precision;
  constexpr FusedKernels kNone{false, false, false, false, false, false};
  if (switches_fusion_off(input)) return kNone;
  if (!precision.liger_kernel_config) return {};
  const arguments::LigerKernelOptions& config = *precision.liger_kernel_config;
  const std::array choices = {config.rope,
                              config.swiglu,
                              config.geglu,
                              config.rms_norm,
                              config.layer_norm,
                              config.cross_entropy,
                              config.fused_linear_cross_entropy};
  if (std::ranges::all_of(choices, [](std::optional<bool> on) { return on == false; })) return kNone;
  return {.rope = config.rope.value_or(true),
          .swiglu = config.swiglu.value_or(true),
          .geglu = config.geglu.value_or(true),
          .rms_norm = config.rms_norm.value_or(true),
          .loss = config.fused_linear_cross_entropy.value_or(true) || config.cross_entropy.value_or(false),
          .rest = true};
}

// Those of GPUs have no figure in docs/benchmarks.md yet, so that they run where somebody asks for them.
bool takes_own_kernels(const ResolveInput& input, const RanksPlan& ranks) {
  const PrecisionArguments& precision = input.parsed.arguments.precision;
  return !on_gpu(ranks) || precision.use_liger_kernel || precision.liger_kernel_config.has_value();
}

// What asks for saved inputs in host memory; empty: nothing.
std::string offload_origin(const arguments::ParseOutcome& parsed) {
  const arguments::Arguments& arguments = parsed.arguments;
  const auto& options = arguments.precision.gradient_checkpointing_kwargs;
  if (options && options->offload) return parsed.origins.describe("gradient_checkpointing_kwargs");
  if (arguments.instructions.activation_offloading) return parsed.origins.describe("activation_offloading");
  const auto& sharding = arguments.parallel.sharding.activation_checkpointing_offload;
  return sharding.value_or(false) ? sharding.origin : "";
}

// Where it has nothing to do.
void note_offload(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const std::string origin = offload_origin(input.parsed);
  if (origin.empty() || (plan.model.checkpoint_offload && on_gpu(plan.ranks))) return;
  notes.push_back({Diagnostic::Severity::kNote, "offload of what recomputed blocks keep has no effect here",
                   origin,
                   plan.model.checkpoint_offload ? "ranks compute on the CPU: it lies in host memory anyway"
                                                 : "no block is recomputed",
                   plan.model.checkpoint_offload ? "" : "--gradient_checkpointing"});
}

// Which a file that repeats the Trainer's defaults may have meant as little as what it says beside it.
void note_fusion(const ResolveInput& input, std::vector<Diagnostic>& notes) {
  if (!switches_fusion_off(input)) return;
  notes.push_back({Diagnostic::Severity::kNote, "use_liger_kernel false switches the fused operators off",
                   input.parsed.origins.describe("use_liger_kernel"),
                   "without it they are used; in the Trainer false is the default, and changes nothing",
                   "leave it out to have them"});
}

constexpr const char* kAdaptedConfig = "the config with the ids of the tokenizer and the labels of the data";

// With the ids that the tokenizer has.
Json config_of_tokenizer(const ModelFacts& model) {
  Json config = model.architecture->config_json();
  align_config(model, config);
  const int64_t ids = model.tokenizer_vocabulary.value_or(0);
  if (ids > model.architecture->vocab_size()) config["vocab_size"] = ids;
  return config;
}

// With the labels of the data; `grows` adds the tokenizer's ids and longer samples' positions.
std::shared_ptr<const architectures::Architecture> adapted(const ResolveInput& input, bool grows) {
  const std::shared_ptr<const architectures::Architecture>& model = input.model.architecture;
  const tasks::TaskRow& task = task_row(input.parsed);
  const Json before = model->config_json();
  Json config = grows ? config_of_tokenizer(input.model) : before;
  if (const int64_t positions = grows ? added_positions(input) : 0; positions > 0) {
    Json& reach = config[model->config_key("max_position_embeddings")];
    reach = reach.get<int64_t>() + positions;
  }
  if (task.config_changes != nullptr && !input.data.of_task.is_null())
    config.update(task.config_changes(input.data.of_task));
  const std::optional<architectures::AdapterSpec> adapter = adapter_spec(input);
  if (config == before && !adapter) return model;
  return architectures::Architecture::from_config(config, kAdaptedConfig, model->head(), adapter);
}

void check_decoder_start(const ResolveInput& input, const architectures::Architecture& architecture,
                         Problems& problems) {
  if (!architecture.has_encoder_and_decoder()) return;
  const std::optional<int64_t> start = architecture.decoder_start_token_id();
  if (start && *start >= 0 && *start < architecture.vocab_size()) return;
  const std::string& folder = input.model.source_folder;
  const bool scratch = folder.empty();
  problems.add(
      scratch ? ExitCode::kUsage : ExitCode::kData,
      {Diagnostic::Severity::kError,
       start ? "decoder_start_token_id must be a token" : "the model's config has no decoder_start_token_id",
       scratch ? "--model_type " + architecture.model_type() : folder + "/config.json",
       start ? "it is " + std::to_string(*start) + ", and tokens are 0 to " +
                   std::to_string(architecture.vocab_size() - 1)
             : "what the decoder reads begins with it",
       scratch ? "--config_overrides decoder_start_token_id=ID" : "give one in config.json"});
}

// Rows are classified by the last end of a text.
void check_ends(const ResolveInput& input, const architectures::Architecture& architecture,
                Problems& problems) {
  const bool looks = architecture.has_encoder_and_decoder() &&
                     architecture.head() == architectures::Head::kSequenceClassification;
  if (!looks || !input.model.special_tokens || architecture.eos_token_id()) return;
  problems.add(
      ExitCode::kData,
      {Diagnostic::Severity::kError, "the tokenizer has no end of text", input.model.tokenizer_folder,
       architecture.model_type() + " classifies a row by the last end of a text in it",
       "name one as eos_token in its tokenizer_config.json, which ends every text with it"});
}

// Of the files that the run begins with; a head that they lack may be drawn anew, or the adapter's.
void check_lacking(const ResolveInput& input, const architectures::Architecture& architecture,
                   const ModelPlan& plan, Problems& problems) {
  const bool may_lack_head = plan.adapter || !input.model.has_head;
  for (const architectures::ParameterSpec& spec : architecture.parameters().parameters) {
    if (spec.adapts || (spec.head && may_lack_head)) continue;
    if (std::ranges::count(input.model.lacking, spec.name) == 0) continue;
    std::vector<std::string> names;
    for (const auto& [name, stored] : input.model.stored_shapes) names.push_back(name);
    Diagnostic lacking{Diagnostic::Severity::kError, "the model's weights lack '" + spec.name + "'",
                       plan.source_folder,
                       "config.json describes a model with this tensor, the files do not hold it",
                       did_you_mean(nearest_names(spec.name, names))};
    if (lacking.hint.empty()) lacking.hint = "the folder of a model that its files hold whole";
    return problems.add(ExitCode::kData, std::move(lacking));
  }
}

// A head for other labels, or a config.json that is not that of the files.
void check_stored_shapes(const ResolveInput& input, const architectures::Architecture& architecture,
                         const ModelPlan& plan, Problems& problems) {
  if (plan.ignore_mismatched_sizes) return;
  auto wrong =
      first_wrong_shape(architecture.parameters(), plan.source_folder, input.model.stored_shapes, plan.grown);
  if (wrong) problems.add(wrong->code(), wrong->diagnostics().front());
}

// Rows that an adapter's file would not hold.
void check_growth(const ResolveInput& input, const architectures::Architecture& architecture,
                  const ModelPlan& plan, Problems& problems) {
  if (!plan.adapter) return;
  const auto& specs = architecture.parameters().parameters;
  for (const int position : plan.frozen) {
    const std::string& name = specs[static_cast<size_t>(position)].name;
    for (const GrownParameter& grown : plan.grown) {
      if (grown.name != name) continue;
      return problems.usage("the model grows, and the adapter would not hold what is new",
                            input.parsed.origins.describe("use_peft"),
                            name + " gets more rows than the folder's " + shape_text(grown.shape_before),
                            "--lora_modules_to_save " + name.substr(0, name.rfind('.')) +
                                ", or a tokenizer whose ids the model has");
    }
  }
}

}  // namespace

std::string why_bounded(const architectures::Architecture& model) {
  return model.learned_positions() ? "the model has an embedding for each position"
                                   : "beyond them the angles of RoPE type dynamic go by the length of each "
                                     "text, which is not implemented";
}

int64_t usable_positions(const ModelFacts& model) {
  if (!model.special_tokens || !model.architecture->learned_positions())
    return model.architecture->max_positions();
  const Json config = config_of_tokenizer(model);
  if (config == model.architecture->config_json()) return model.architecture->max_positions();
  return architectures::Architecture::from_config(config, kAdaptedConfig, model.architecture->head())
      ->max_positions();
}

std::shared_ptr<const architectures::Architecture> running_architecture(const ResolveInput& input) {
  return adapted(input, /*grows=*/true);
}

PrecisionPlan resolve_precision(const ResolveInput& input, const RanksPlan& ranks, Problems& problems) {
  const PrecisionArguments& precision = input.parsed.arguments.precision;
  PrecisionPlan plan;
  plan.compute = compute_dtype(input);
  plan.gradient_scaler = precision.fp16;
  plan.loss_scale = resolve_loss_scale(input);
  plan.eval = precision.bf16_full_eval ? "bfloat16" : precision.fp16_full_eval ? "float16" : "";
  const bool gpus = on_gpu(ranks), ampere = gpus && all_ampere(input, ranks);
  if (!gpus) check_cpu_precision(input, problems);
  if (gpus && !ampere) check_gpu_precision(input, problems);
  if (ampere) plan.tf32 = precision.tf32;
  const bool half_on_cpu = !gpus && plan.compute == "float16" && !precision.fp16;
  if (half_on_cpu || (precision.fp16 && master_dtype(input) == "float16")) {
    problems.usage("the weights cannot be trained in float16", input.parsed.origins.describe("dtype"),
                   half_on_cpu ? "the ranks run on the CPU" : "loss scaling needs float32 weights",
                   "--dtype float32");
  }
  return plan;
}

ModelPlan resolve_model(const ResolveInput& input, const RanksPlan& ranks, Problems& problems) {
  const arguments::Arguments& arguments = input.parsed.arguments;
  const auto architecture = running_architecture(input);
  check_decoder_start(input, *architecture, problems);
  check_ends(input, *architecture, problems);
  ModelPlan plan;
  plan.source_folder = input.model.source_folder;
  plan.hub_name = input.model.hub_name;
  plan.weights_mark = input.model.weights_mark;
  plan.model_type = architecture->model_type();
  plan.tokenizer_folder = input.model.tokenizer_folder;
  plan.tokenizer_settings = input.model.tokenizer_settings;
  plan.chat_template = input.model.chat_template;
  plan.master_dtype = master_dtype(input);
  plan.tied_dtype = input.model.opened_dtype;
  plan.config = architecture->config_json();
  plan.config["dtype"] = plan.master_dtype;
  plan.config["use_cache"] = arguments.model.use_cache;
  align_config(input.model, plan.config);
  if (generates(architecture->head()))
    plan.generation_config = generation_config_text(input.model, plan.config);
  plan.ignore_mismatched_sizes = arguments.model.ignore_mismatched_sizes;
  if (!plan.source_folder.empty())
    plan.grown = grown_parameters(*adapted(input, /*grows=*/false), *architecture);
  plan.adapter = resolve_adapter(input, *architecture, problems);
  plan.frozen = frozen_parameters(input, *architecture, problems);
  check_growth(input, *architecture, plan, problems);
  if (input.resume_from.empty() || plan.adapter) {  // otherwise the checkpoint is opened
    check_lacking(input, *architecture, plan, problems);
    check_stored_shapes(input, *architecture, plan, problems);
  }
  if (const auto make = task_row(input.parsed).preprocessor) {
    plan.preprocessor_config =
        dump_json(input.model.preprocessor.is_null()
                      ? images::preprocessor_json(make(task_input(input.parsed, input.model)),
                                                  architecture->image()->processor)
                      : input.model.preprocessor) +
        '\n';
  }
  plan.parameters = plan.trainable_parameters = architecture->parameters().count();
  for (const int position : plan.frozen)
    plan.trainable_parameters -= architecture->parameters().parameters[static_cast<size_t>(position)].numel();
  plan.non_embedding_parameters = architecture->parameters().count_non_embedding();
  plan.gradient_checkpointing = recomputes_activations(arguments);
  if (arguments.precision.gradient_checkpointing_kwargs) {
    plan.checkpoint_every_n_layers = arguments.precision.gradient_checkpointing_kwargs->every_n_layers;
  }
  plan.checkpoint_offload = plan.gradient_checkpointing && !offload_origin(input.parsed).empty();
  plan.neftune_noise_alpha = arguments.optimizer.neftune_noise_alpha.value_or(0);
  plan.fused_kernels = fused_kernels(input);
  plan.fused_kernels.own = takes_own_kernels(input, ranks);
  return plan;
}

std::vector<Diagnostic> kernel_notes(const ResolveInput& input, const RunPlan& plan) {
  const PrecisionArguments& precision = input.parsed.arguments.precision;
  std::vector<Diagnostic> notes;
  note_offload(input, plan, notes);
  note_fusion(input, notes);
  const auto& choice = precision.liger_kernel_config;
  if (choice && choice->layer_norm == false && plan.model.fused_kernels.rest)
    notes.push_back({Diagnostic::Severity::kNote, "layer_norm of liger_kernel_config changes nothing",
                     input.parsed.origins.describe("liger_kernel_config"),
                     "layer norms have one form here, LibTorch's own, in one pass", ""});
  if (!on_gpu(plan.ranks) || !precision.use_liger_kernel) return notes;
  notes.push_back(
      {Diagnostic::Severity::kNote, "on GPUs use_liger_kernel may fuse the loss and the projections alone",
       input.parsed.origins.describe("use_liger_kernel"),
       "norms, rotary embedding, activations and cross-entropy have kernels there where the CUDA plug-in "
       "was built with nvcc, which no GPU has timed yet; without it LibTorch's own run, and documents of "
       "packed "
       "rows attend in one call either way",
       ""});
  return notes;
}

}  // namespace hftrain::plan
