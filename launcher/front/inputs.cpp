#include "launcher/front/inputs.h"

#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <optional>
#include <utility>

#include "hftrain/arguments/other_machines.h"
#include "hftrain/arguments/print_config.h"
#include "hftrain/base/disk_space.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/base/json.h"
#include "hftrain/base/json_member.h"
#include "hftrain/machine/detect_topology.h"
#include "hftrain/plan/plugin_file.h"
#include "hftrain/plan/program_file.h"
#include "hftrain/storage/model_folder.h"
#include "hftrain/storage/weights_mark.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "hftrain/tokenizer/unheeded_settings.h"
#include "launcher/front/chat_facts.h"
#include "launcher/front/saved_run.h"
#include "launcher/front/text_paths.h"
#include "launcher/ssh/host_file.h"
#include "launcher/ssh/machine_start.h"

namespace hftrain::front {
namespace {

// TensorBoard's sub-folder as the Trainer names it: time of start and host.
std::string label_of_this_run() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[64];
  const size_t size = std::strftime(text, sizeof(text), "%b%d_%H-%M-%S_", &local);
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  return std::string(text, size) + host;
}

std::optional<int64_t> forced_bos_id(const tokenizer::Tokenizer& tokenizer,
                                     const std::optional<std::string>& token) {
  if (!token) return std::nullopt;
  if (const auto id = tokenizer.token_to_id(*token)) return *id;
  throw Error(ExitCode::kUsage, "the tokenizer has no token '" + *token + "'")
      .where("--forced_bos_token")
      .why("its id would stand in generation_config.json")
      .hint("a token of " + tokenizer.folder() + "/tokenizer.json");
}

void add_tokenizer_facts(const arguments::ParseOutcome& parsed, const Environment& environment,
                         plan::ModelFacts& facts) {
  if (facts.tokenizer_folder.empty()) return;
  const auto tokenizer = tokenizer::Tokenizer::load(facts.tokenizer_folder);
  facts.forced_bos = forced_bos_id(*tokenizer, parsed.arguments.data.forced_bos_token);
  facts.tokenizer_vocabulary = tokenizer->vocab_size();
  facts.tokenizer_pads_on_left = tokenizer->pads_on_left();
  facts.tokenizer_unheeded = tokenizer::unheeded_settings(*tokenizer);
  facts.special_tokens = plan::SpecialTokens{tokenizer->bos_id(), tokenizer->eos_id(), tokenizer->pad_id(),
                                             tokenizer->mask_id()};
  add_chat_facts(parsed, environment, *tokenizer, facts);
}

// Of a folder for state that is offloaded to NVMe, if there is one.
std::optional<DiskSpace> disk_of(const arguments::Sourced<std::string>& folder) {
  return folder && !(*folder).empty() ? std::optional(disk_space(*folder)) : std::nullopt;
}

// What --auto_find_batch_size had come to when the checkpoint was written.
std::optional<int64_t> saved_batch(const Inputs& inputs, const std::string& checkpoint) {
  const std::string path = checkpoint + "/trainer_state.json";
  if (!inputs.parsed.arguments.batch.auto_find_batch_size || checkpoint.empty() || !path_exists(path))
    return std::nullopt;
  const Json size = json_member(read_json_file(path), "train_batch_size");
  return size.is_number_integer() && size > 0 ? std::optional(size.get<int64_t>()) : std::nullopt;
}

// --machines in place of this machine. A host file, too, says how many machines the run has.
void take_other_machines(Inputs& inputs) {
  arguments::LaunchArguments& launch = inputs.parsed.arguments.launch;
  inputs.other_machines = plan::parse_machine_spec(*arguments::other_machines(inputs.parsed));
  if (inputs.parsed.origins.is_given("hostfile") &&
      !inputs.parsed.origins.is_given("deepspeed_multinode_launcher"))
    launcher::take_from_hosts(launcher::read_hosts(launch), launch, inputs.parsed.origins);
  plan::check_machines(*inputs.other_machines, inputs.parsed);
  inputs.topology = plan::topology_of_machine(*inputs.other_machines, inputs.environment);
  inputs.agents = plan::agents_of(*inputs.other_machines, inputs.topology, launch.nproc_per_node);
}

plan::ResolveInput resolve_input(const Inputs& inputs, const plan::DataFacts& data,
                                 const std::string& resume_from,
                                 std::optional<int64_t> batch = std::nullopt) {
  const bool elsewhere = inputs.other_machines.has_value();
  const arguments::ParallelOptions& sharding = inputs.parsed.arguments.parallel.sharding;
  return {.parsed = inputs.parsed,
          .topology = inputs.topology,
          .model = inputs.model,
          .environment = inputs.environment,
          .data = data,
          .output_dir = inputs.output_dir,
          .run_label = inputs.run_label,
          .resume_from = resume_from,
          .free_bytes = elsewhere ? std::nullopt : std::optional(free_bytes(inputs.output_dir)),
          .hftrain_version = HFTRAIN_VERSION,
          .arguments_json = dump_json(arguments::arguments_json(inputs.parsed), -1),
          .parameters_disk = elsewhere ? std::nullopt : disk_of(sharding.parameters_path),
          .optimizer_disk = elsewhere ? std::nullopt : disk_of(sharding.optimizer_path),
          .agents = inputs.agents,
          .saved = saved_run(resume_from),
          .found_batch = batch ? batch : saved_batch(inputs, resume_from),
          .plugin = inputs.plugin,
          .elsewhere = elsewhere,
          .output_has_weights = storage::has_model_weights(inputs.output_dir)};
}

}  // namespace

Inputs gather_inputs(arguments::ParseOutcome parsed, const Environment& environment) {
  Inputs inputs = gather_machine(std::move(parsed), environment);
  add_model(inputs);
  return inputs;
}

Inputs gather_machine(arguments::ParseOutcome parsed, const Environment& environment) {
  require_text_of_current_folder();
  Inputs inputs;
  inputs.parsed = std::move(parsed);
  inputs.environment =
      arguments::other_machines(inputs.parsed) ? arguments::of_other_machines(environment) : environment;
  for (const auto& [name, value] : inputs.parsed.exported_environment) inputs.environment.set(name, value);
  inputs.output_dir = std::filesystem::absolute(inputs.parsed.arguments.output.output_dir.value())
                          .lexically_normal()
                          .string();
  if (inputs.output_dir.size() > 1 && inputs.output_dir.back() == '/') inputs.output_dir.pop_back();
  inputs.run_label = label_of_this_run();
  if (arguments::other_machines(inputs.parsed)) {
    take_other_machines(inputs);
  } else {
    inputs.topology = machine::detect_topology(inputs.environment);
  }
  return inputs;
}

plan::PluginPlan open_plugin(const std::string& path) {
  return plan::open_plugin(path, HFTRAIN_TORCH_VERSION);
}

void require_task(const arguments::ParseOutcome& parsed) {
  const std::optional<std::string>& task = parsed.arguments.run.task;
  const auto& plugin = parsed.arguments.interface.plugin;
  if (!task || tasks::task_named(*task)) return;
  if (plugin) open_plugin(*plugin);
  plan::task_row(parsed);
}

namespace {

bool is_of_output(const std::string& folder, const std::string& output_dir) {
  std::error_code ignored;  // one is not there yet
  const auto there = std::filesystem::weakly_canonical(folder, ignored);
  const auto output = std::filesystem::weakly_canonical(output_dir, ignored);
  return !there.lexically_relative(output).string().starts_with("..");
}

// What a run that goes on in the same folder must begin with. A result of it that lies there is not compared.
void mark_weights(Inputs& inputs) {
  plan::ModelFacts& model = inputs.model;
  if (!plan::wants_training(inputs.parsed) || model.source_folder.empty()) return;
  const bool adapter = !model.adapter_folder.empty();
  if (is_of_output(model.source_folder, inputs.output_dir) ||
      (adapter && is_of_output(model.adapter_folder, inputs.output_dir)))
    return;
  model.weights_mark = storage::weights_mark(model.source_folder);
  if (adapter)
    model.weights_mark = hash_bytes(model.weights_mark + storage::adapter_mark(model.adapter_folder));
}

}  // namespace

void add_model(Inputs& inputs) {
  // First, as it may add the model's family.
  if (const auto& plugin = inputs.parsed.arguments.interface.plugin) inputs.plugin = open_plugin(*plugin);
  const plan::FilesNeeded needed =
      inputs.other_machines ? plan::FilesNeeded::kOfPlan : plan::FilesNeeded::kOfRun;
  inputs.model = plan::load_model_facts(inputs.parsed.arguments, inputs.environment, needed,
                                        plan::task_row(inputs.parsed).head);
  mark_weights(inputs);
  add_tokenizer_facts(inputs.parsed, inputs.environment, inputs.model);
  if (const auto& program = inputs.parsed.arguments.launch.worker_program)
    plan::open_program(*program, HFTRAIN_TORCH_VERSION);
  plan::require_flags_of_task(inputs.parsed);
  inputs.files = plan::files_of_run(inputs.parsed, inputs.environment);
}

void look_at_weights(Inputs& inputs) {
  const std::string &model = inputs.model.source_folder, &adapter = inputs.model.adapter_folder;
  if (!model.empty()) inputs.model_seen = {model, storage::weight_files(model)};
  if (!adapter.empty()) inputs.adapter_seen = {adapter, storage::adapter_files(adapter)};
}

plan::RunPlan resolve_plan(const Inputs& inputs, const plan::DataFacts& data, const std::string& resume_from,
                           std::optional<int64_t> batch) {
  plan::RunPlan plan = plan::resolve(resolve_input(inputs, data, resume_from, batch));
  require_text_in_plan(plan::to_json_value(plan));
  return plan;
}

std::vector<Diagnostic> notes_of_plan(const Inputs& inputs, const plan::RunPlan& plan) {
  std::vector<Diagnostic> notes = plan::plan_notes(resolve_input(inputs, {}, plan.saving.resume_from), plan);
  notes.insert(notes.end(), inputs.files.notes.begin(), inputs.files.notes.end());
  if (inputs.other_machines) {
    const std::vector<Diagnostic> assumed = plan::notes_of(*inputs.other_machines, inputs.parsed, plan);
    notes.insert(notes.end(), assumed.begin(), assumed.end());
  }
  return notes;
}

}  // namespace hftrain::front
