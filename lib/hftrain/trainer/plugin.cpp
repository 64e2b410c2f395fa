#include "hftrain/trainer/plugin.h"

#include <dlfcn.h>
#include <torch/version.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "hftrain/architectures/described_family.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/plan/plugin_file.h"
#include "hftrain/plugin/plugin.h"
#include "hftrain/tasks/described_task.h"
#include "hftrain/trainer/plugin_callback.h"
#include "hftrain/trainer/plugin_family.h"
#include "hftrain/trainer/plugin_guard.h"
#include "hftrain/trainer/plugin_loss.h"
#include "hftrain/trainer/plugin_metrics.h"
#include "hftrain/trainer/plugin_reporter.h"

namespace hftrain::trainer {
namespace {

using plugin::Registry;
using Register = void (*)(Registry&);

std::atomic<bool> g_loaded = false;

std::string name_of(const plan::PluginPlan& plugin) {
  return "the plug-in '" + plugin.name + '\'';
}

Error unusable_plugin(ExitCode code, const plan::PluginPlan& plugin) {
  return Error(code, name_of(plugin) + " cannot be used").where(plugin.path);
}

std::string reason_of_loader() {
  const char* reason = ::dlerror();
  return reason == nullptr ? "unknown reason" : reason;
}

// All ranks compute with the same file, and that is the one which the front program has looked at.
void check_file(const plan::PluginPlan& plugin) {
  if (plan::open_plugin(plugin.path, TORCH_VERSION).hash == plugin.hash) return;
  throw unusable_plugin(ExitCode::kEnvironment, plugin)
      .why("it is another file than where and when the run was started")
      .hint("the same file at this path on every machine, and none that changes while a run lasts");
}

Registry ask_for_registration(const plan::PluginPlan& plugin) {
  void* library = ::dlopen(plugin.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw unusable_plugin(ExitCode::kEnvironment, plugin)
        .why(reason_of_loader())
        .hint("link it with all that it uses, and with hftrain::torch where it computes");
  g_loaded = true;
  const auto function = reinterpret_cast<Register>(::dlsym(library, "hftrain_plugin_register"));
  if (function == nullptr)
    throw unusable_plugin(ExitCode::kEnvironment, plugin)
        .why(reason_of_loader())
        .hint("begin its registration with HFTRAIN_PLUGIN of hftrain/plugin/plugin.h");
  Registry registry;
  PluginPart{name_of(plugin), plugin.path, "what begins with HFTRAIN_PLUGIN"}.call(
      "registering", [&] { function(registry); });
  return registry;
}

}  // namespace

bool has_loaded_plugin() {
  return g_loaded;
}

plugin::Run told_run(const plan::RunPlan& plan, const runtime::WorkerContext& context) {
  return {.output_dir = plan.output_dir,
          .name = plan.logging.run_name,
          .arguments = plan.logging.arguments_json,
          .model_config = dump_json(plan.model.config),
          .parameters = plan.model.parameters,
          .rank = context.place.rank,
          .local_rank = context.place.local_rank,
          .world_size = context.place.world_size};
}

namespace {

void require_torch(const plan::PluginPlan& plugin, const std::string& registered) {
  if (plan::read_plugin_note(read_file(plugin.path), plugin.path).torch != "none") return;
  throw unusable_plugin(ExitCode::kUsage, plugin)
      .why("it registers " + registered + ", and does not say with which LibTorch it was compiled")
      .hint("link hftrain::torch of find_package(hftrain)");
}

// What would be accepted and ignored, because the loss is no longer ours.
void check_losses(const plan::RunPlan& plan, const Registry& registry) {
  if (registry.losses.empty()) return;
  const plan::PluginPlan& plugin = *plan.plugin;
  if (registry.losses.size() > 1)
    throw unusable_plugin(ExitCode::kUsage, plugin)
        .why("it registers " + std::to_string(registry.losses.size()) + " losses, and a run has one")
        .hint("register one of them");
  require_torch(plugin, "a loss");
  const bool smooths = plan.optimizer.label_smoothing != 0;
  if (smooths || plan.optimizer.loss_by_probability)
    throw unusable_plugin(ExitCode::kUsage, plugin)
        .why(std::string(smooths ? "--label_smoothing_factor" : "--loss_type dft") +
             " changes the model's own loss, and the plug-in's is computed in its place")
        .hint("leave the flag out, or do it in the plug-in");
}

// What is planned by its description is computed by what is registered.
void check_families(const plan::PluginPlan& plugin, const Registry& registry) {
  if (!registry.families.empty()) require_torch(plugin, "a family");
  std::set<std::string> left;
  for (const auto* schema : architectures::described_schemas()) left.insert(schema->model_type);
  for (const auto& family : registry.families) {
    if (left.erase(family.name) == 1) continue;
    throw unusable_plugin(ExitCode::kUsage, plugin)
        .why("it registers the family '" + family.name + "', and does not describe it, or registers it twice")
        .hint("HFTRAIN_FAMILY with this model_type, once");
  }
  if (!left.empty())
    throw unusable_plugin(ExitCode::kUsage, plugin)
        .why("it describes the family '" + *left.begin() + "' and does not register it")
        .hint("registry.family(\"" + *left.begin() + "\", …)");
}

void add_families(const plan::PluginPlan& plugin, Registry& registry) {
  for (auto& family : registry.families)
    add_plugin_family(PluginPart{name_of(plugin), plugin.path, "the family '" + family.name + "'"},
                      family.name, std::move(family.member));
}

// What is planned by its description is measured by what is registered.
void check_measures(const plan::PluginPlan& plugin, const Registry& registry) {
  if (!registry.measures.empty()) require_torch(plugin, "metrics");
  std::set<std::string> left;
  for (const tasks::TaskDescription& task : tasks::described_tasks()) {
    if (!task.metrics.empty()) left.insert(task.name);
  }
  for (const auto& measure : registry.measures) {
    if (left.erase(measure.name) == 1) continue;
    throw unusable_plugin(ExitCode::kUsage, plugin)
        .why("it registers metrics of the task '" + measure.name +
             "', and describes none of it, or registers them twice")
        .hint("HFTRAIN_TASK with this name and its metrics, once");
  }
  if (!left.empty())
    throw unusable_plugin(ExitCode::kUsage, plugin)
        .why("it describes metrics of the task '" + *left.begin() + "' and does not register them")
        .hint("registry.metrics(\"" + *left.begin() + "\", …)");
}

// Checkpoints keep the states of callbacks by their names.
void check_names(const plan::RunPlan& plan, const Registry& registry) {
  std::set<std::string> names = {"TrainerControl", "EarlyStoppingCallback"};
  for (const auto& registered : registry.callbacks) {
    if (!registered.name.empty() && names.insert(registered.name).second) continue;
    throw unusable_plugin(ExitCode::kUsage, *plan.plugin)
        .why("a callback is called '" + registered.name + "', and checkpoints keep states by names")
        .hint("a name of its own for each callback");
  }
}

}  // namespace

void learn_task(const plan::PluginPlan& plugin) {
  check_file(plugin);
}

void load_families(const plan::PluginPlan& plugin) {
  check_file(plugin);
  Registry registry = ask_for_registration(plugin);
  check_families(plugin, registry);
  add_families(plugin, registry);
}

Extensions load_plugin(const plan::RunPlan& plan, const runtime::WorkerContext& context) {
  Extensions extensions;
  if (!plan.plugin) return extensions;
  check_file(*plan.plugin);
  extensions.whose = name_of(*plan.plugin);
  Registry registry = ask_for_registration(*plan.plugin);
  check_losses(plan, registry);
  const plugin::Run run = told_run(plan, context);
  const auto part = [&](const char* kind, const std::string& name) {
    return PluginPart{name_of(*plan.plugin), plan.plugin->path,
                      std::string("the ") + kind + " '" + name + "'"};
  };
  check_names(plan, registry);
  check_families(*plan.plugin, registry);
  check_measures(*plan.plugin, registry);
  for (auto& registered : registry.callbacks) {
    PluginPart callback = part("callback", registered.name);
    std::unique_ptr<plugin::Callback> made = callback.call("being made", [&] {
      std::unique_ptr<plugin::Callback> object = registered.member(run);
      if (!object) throw std::runtime_error("it made no callback");
      return object;
    });
    extensions.callbacks.push_back(
        plugin_callback(std::move(callback), registered.name, std::move(made), plan, context.place.rank));
  }
  for (auto& reporter : registry.reporters) {
    PluginPart named = part("reporter", reporter.name);
    extensions.reporters.push_back(plugin_reporter(std::move(named), std::move(reporter), run));
  }
  add_families(*plan.plugin, registry);
  const tasks::TaskDescription* task = tasks::description_of(plan.data.task);
  for (auto& measure : registry.measures) {
    if (task != nullptr && task->name == measure.name)
      extensions.metrics = plugin_metrics(part("metrics of the task", measure.name),
                                          std::move(measure.member), *task, plan.model.config);
  }
  for (auto& loss : registry.losses)
    extensions.loss = plugin_loss(part("loss", loss.name), std::move(loss.member));
  return extensions;
}

}  // namespace hftrain::trainer
