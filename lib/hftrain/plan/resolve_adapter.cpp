// The adapter that is trained in place of the weights, or that the opened folder holds.
#include <algorithm>
#include <array>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/plan/stored_adapter.h"

namespace hftrain::plan {
namespace {

using architectures::AdapterSpec;
using architectures::Architecture;
using architectures::Head;
using architectures::ParameterSpec;
using arguments::AdapterArguments;

constexpr std::array kAdapterFlags = {
    "lora_r",     "lora_alpha",    "lora_dropout", "lora_target_modules", "lora_modules_to_save",
    "use_rslora", "lora_task_type"};

// As peft calls the task; of some it has no word.
std::string task_type_of(Head head) {
  switch (head) {
    case Head::kCausalLm:
      return "CAUSAL_LM";
    case Head::kSeq2SeqLm:
      return "SEQ_2_SEQ_LM";
    case Head::kSequenceClassification:
      return "SEQ_CLS";
    case Head::kTokenClassification:
      return "TOKEN_CLS";
    case Head::kQuestionAnswering:
      return "QUESTION_ANS";
    default:
      return "";
  }
}

// A head that a checkpoint of a language model does not have starts from random numbers, and is trained whole: random and
// frozen, it would be lost with the run. That is also so for what is of the body (a pooler), and for the head of a language
// model over files of a body alone.
std::vector<std::string> modules_of_head(const ModelFacts& model) {
  std::vector<std::string> modules;
  const Architecture& architecture = *model.architecture;
  const bool of_language =
      architectures::generates(architecture.head()) || architecture.head() == Head::kMaskedLm;
  const std::string& body = architecture.parameters().base_prefix;
  for (const ParameterSpec& spec : architecture.parameters().parameters) {
    const bool within_body = !body.empty() && spec.name.starts_with(body);
    const bool may_be_stored = within_body || of_language;
    if (!spec.head || (may_be_stored && std::ranges::count(model.lacking, spec.name) == 0)) continue;
    const std::string name = spec.name.substr(within_body ? body.size() : 0);
    const std::string module = name.substr(0, name.find('.'));
    if (std::ranges::count(modules, module) == 0) modules.push_back(module);
  }
  return modules;
}

AdapterSpec asked_for(const AdapterArguments& asked, const ModelFacts& model) {
  AdapterSpec spec;
  spec.rank = asked.lora_r;
  spec.alpha = asked.lora_alpha;
  spec.dropout = asked.lora_dropout;
  spec.rank_stabilised = asked.use_rslora;
  spec.targets = asked.lora_target_modules.value_or(model.architecture->adapter_targets());
  spec.saved_modules = asked.lora_modules_to_save.value_or(std::vector<std::string>());
  for (const std::string& module : modules_of_head(model)) {
    if (std::ranges::count(spec.saved_modules, module) == 0) spec.saved_modules.push_back(module);
  }
  return spec;
}

// Whether the words name the modules that the folder's adapter stands beside: all-linear and endings of names are other words
// for what peft writes as a list.
bool same_targets(const ResolveInput& input, const AdapterSpec& stored, const AdapterSpec& asked) {
  const Architecture& model = *input.model.architecture;
  AdapterSpec wanted = asked;
  wanted.saved_modules = stored.saved_modules;
  const auto beside = [&](const AdapterSpec& spec) {
    return architectures::adapted_modules(model.parameters(), spec, model.model_type());
  };
  return beside(wanted) == beside(stored);
}

// The same of a module that is to be saved whole.
bool saves_whole(const ResolveInput& input, const AdapterSpec& stored, const std::string& module) {
  if (std::ranges::count(stored.saved_modules, module) > 0) return true;
  const Architecture& model = *input.model.architecture;
  AdapterSpec asked;
  asked.saved_modules = {module};
  const auto wanted = architectures::saved_whole(model.parameters(), asked, model.model_type());
  const auto held = architectures::saved_whole(model.parameters(), stored, model.model_type());
  return std::ranges::includes(held, wanted);
}

// Said by the user: a file that repeats the default, as those of --print_config do, says nothing.
bool is_said(const ResolveInput& input, const std::string& flag) {
  return input.parsed.origins.is_given(flag) && input.parsed.origins.is_chosen(flag);
}

// The word that a new adapter is given, and of an opened one without a word what the flag is held against.
std::string task_type(const ResolveInput& input, Head head, Problems& problems) {
  const std::string& asked = input.parsed.arguments.adapter.lora_task_type;
  const std::string own = task_type_of(head);
  if (is_said(input, "lora_task_type") && asked != own) {
    problems.usage("lora_task_type " + asked + " is not that of the task",
                   input.parsed.origins.describe("lora_task_type"),
                   own.empty() ? "peft has no word for this task" : "the model's head makes it " + own,
                   "leave it out");
  }
  return own;
}

// Flags that say otherwise than the adapter that the folder holds.
void check_against_folder(const ResolveInput& input, const AdapterSpec& stored, Head head,
                          Problems& problems) {
  const AdapterSpec asked = asked_for(input.parsed.arguments.adapter, input.model);
  const auto compare = [&](const char* flag, const Json& wanted, const Json& held) {
    if (!is_said(input, flag) || wanted == held) return;
    problems.usage(std::string(flag) + " is not what the adapter has", input.parsed.origins.describe(flag),
                   input.model.adapter_folder + " has " + held.dump(),
                   "leave it out, or name the base model to begin a new adapter");
  };
  compare("lora_r", asked.rank, stored.rank);
  compare("lora_alpha", asked.alpha, stored.alpha);
  compare("use_rslora", asked.rank_stabilised, stored.rank_stabilised);
  if (is_said(input, "lora_target_modules") && !same_targets(input, stored, asked))
    compare("lora_target_modules", asked.targets, stored.targets);
  for (const std::string& module :
       input.parsed.arguments.adapter.lora_modules_to_save.value_or(std::vector<std::string>())) {
    if (saves_whole(input, stored, module)) continue;
    compare("lora_modules_to_save", module, stored.saved_modules);
    break;
  }
  if (!is_said(input, "lora_task_type")) return;
  const std::string path = input.model.adapter_folder + '/' + architectures::kAdapterConfigName;
  const Json held = parse_json(input.model.adapter_config, path).value("task_type", Json());
  if (held.is_null()) {
    task_type(input, head, problems);
  } else {
    compare("lora_task_type", input.parsed.arguments.adapter.lora_task_type, held);
  }
}

// An adapter of another task, beside whose model this head starts from random numbers.
void refuse_lost_head(const ResolveInput& input, const Architecture& running, Problems& problems) {
  const architectures::ParameterTable& table = running.parameters();
  const std::vector<int> kept = architectures::saved_whole(table, *running.adapter(), running.model_type());
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    const ParameterSpec& spec = table.parameters[i];
    const bool within_body = !table.base_prefix.empty() && spec.name.starts_with(table.base_prefix);
    const bool drawn = spec.head && !within_body && std::ranges::count(input.model.lacking, spec.name) > 0;
    if (!drawn || std::ranges::binary_search(kept, static_cast<int>(i))) continue;
    return problems.usage(
        "the adapter is not one of this task", input.model.adapter_folder,
        "'" + spec.name + "' would start from random numbers, stay as it is and be saved " +
            "nowhere: modules_to_save of the adapter do not name it",
        "hftrain checkpoint merge makes a plain model of it, beside which --use_peft begins "
        "an adapter of the task");
  }
}

// What a rank would find when it loads the file.
void check_file(const ResolveInput& input, const Architecture& running, Problems& problems) {
  if (input.model.adapter_shapes.empty()) return;
  const architectures::ParameterTable& table = running.parameters();
  std::vector<size_t> trained;
  for (const int whole : architectures::saved_whole(table, *running.adapter(), running.model_type()))
    trained.push_back(static_cast<size_t>(whole));
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    if (table.parameters[i].adapts) trained.push_back(i);
  }
  const auto misfit = first_misfit(table, trained, *running.adapter(),
                                   input.model.adapter_folder + '/' + architectures::kAdapterWeightsName,
                                   input.model.adapter_shapes);
  if (misfit) problems.add(misfit->code(), misfit->diagnostics().front());
}

// By its name others find it, too; a snapshot of the cache is on this machine alone.
architectures::AdapterBase base_of(const ModelFacts& model) {
  if (model.hub_name.empty()) return {.name = model.source_folder};
  return {.name = model.hub_name, .revision = model.hub_revision == kMainRevision ? "" : model.hub_revision};
}

}  // namespace

std::optional<AdapterSpec> adapter_spec(const ResolveInput& input) {
  if (input.model.adapter) {
    AdapterSpec spec = *input.model.adapter;
    if (is_said(input, "lora_dropout")) spec.dropout = input.parsed.arguments.adapter.lora_dropout;
    return spec;
  }
  if (!input.parsed.arguments.adapter.use_peft) return std::nullopt;
  return asked_for(input.parsed.arguments.adapter, input.model);
}

std::optional<AdapterPlan> resolve_adapter(const ResolveInput& input, const Architecture& running,
                                           Problems& problems) {
  const std::optional<AdapterSpec>& spec = running.adapter();
  const AdapterArguments& asked = input.parsed.arguments.adapter;
  if (!spec) return std::nullopt;
  if (input.model.source_folder.empty()) {
    problems.usage("an adapter needs a model to stand beside", input.parsed.origins.describe("use_peft"),
                   "weights that start from random numbers are lost with the run: only the adapter is saved",
                   "--model_name_or_path FOLDER");
  }
  if (spec->targets.empty()) {
    problems.usage("which modules get an adapter is not known", input.parsed.origins.describe("use_peft"),
                   "peft names none for " + running.model_type(),
                   "--lora_target_modules " + std::string(architectures::kAllLinear));
  }
  if (input.model.adapter && !asked.use_peft && wants_training(input.parsed)) {
    problems.usage("the folder holds an adapter", input.model.adapter_folder,
                   "training all weights would leave it behind",
                   "--use_peft trains it on; hftrain checkpoint merge makes a plain model of it");
  }
  if (wants_training(input.parsed) && input.output_has_weights) {
    problems.usage(
        "the output folder holds the weights of a model", input.output_dir,
        "with an adapter beside them the folder would be opened without it here, and with it by transformers",
        "another --output_dir");
  }
  AdapterPlan plan{.spec = *spec, .folder = input.model.adapter_folder};
  if (input.model.adapter) {
    check_against_folder(input, *input.model.adapter, running.head(), problems);
    if (wants_training(input.parsed)) refuse_lost_head(input, running, problems);
    check_file(input, running, problems);
    plan.config =
        architectures::with_names_in_memory(input.model.adapter_config, running.parameters(), *spec);
    if (spec->dropout != input.model.adapter->dropout)
      plan.config = architectures::with_dropout(plan.config, spec->dropout);
    return plan;
  }
  const std::string type = task_type(input, running.head(), problems);
  plan.config =
      dump_json(architectures::adapter_config_json(running.parameters(), *spec, base_of(input.model), type)) +
      '\n';
  return plan;
}

namespace {

void warn_of_unknown_keys(const ResolveInput& input, std::vector<Diagnostic>& notes) {
  if (input.model.adapter_config.empty()) return;
  const std::string path = input.model.adapter_folder + '/' + architectures::kAdapterConfigName;
  const std::vector<std::string> keys =
      architectures::unknown_adapter_keys(parse_json(input.model.adapter_config, path));
  if (keys.empty()) return;
  Diagnostic told =
      warning("the adapter's config has keys that are not known here and have no effect: " + join(keys, ", "),
              "they are of another release of peft than 0.21",
              "where one of them may change what the adapter computes, compare an evaluation with peft's");
  told.where = path;
  notes.push_back(std::move(told));
}

// Where it was asked that checkpoints hold the model's weights in parts.
void note_form(const ResolveInput& input, std::vector<Diagnostic>& notes) {
  const arguments::ParallelOptions& asked = input.parsed.arguments.parallel.sharding;
  const std::string form = asked.state_dict.value_or("full");
  if (form == "full" || asked.state_dict_filled_in) return;
  Diagnostic told = note(form == "local" ? "LOCAL_STATE_DICT has no effect beside an adapter"
                                         : "SHARDED_STATE_DICT has no effect beside an adapter",
                         "an adapter is small: checkpoints hold it whole, as peft reads it");
  told.where = where(asked.state_dict.origin);
  notes.push_back(std::move(told));
}

}  // namespace

void note_adapter(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (plan.model.adapter) {
    warn_of_unknown_keys(input, notes);
    if (!plan.do_train) return;
    const double share = 100.0 * static_cast<double>(plan.model.trainable_parameters) /
                         static_cast<double>(plan.model.parameters);
    char text[32];
    std::snprintf(text, sizeof text, "%.2f %%", share);
    notes.push_back(note("an adapter is trained: " + std::to_string(plan.model.trainable_parameters) +
                         " of " + std::to_string(plan.model.parameters) + " numbers, " + text));
    return note_form(input, notes);
  }
  for (const char* flag : kAdapterFlags) {
    if (!is_said(input, flag)) continue;
    Diagnostic diagnostic =
        warning(std::string(flag) + " has no effect", "there is no adapter", "--use_peft");
    diagnostic.where = input.parsed.origins.describe(flag);
    notes.push_back(std::move(diagnostic));
  }
}

}  // namespace hftrain::plan
