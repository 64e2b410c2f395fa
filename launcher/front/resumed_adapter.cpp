#include "launcher/front/resumed_adapter.h"

#include <algorithm>
#include <vector>

#include "hftrain/architectures/adapter.h"
#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/interchange/fsdp_folder.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/plan/identity.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::front {
namespace {

constexpr const char* kOfParts =
    "warning: the checkpoint has its adapter in the parts of FSDP and no adapter_config.json, which would "
    "say "
    "how it was trained: this run's scale (lora_alpha, use_rslora) counts";

// False where one names modules that the model does not have.
template <typename Resolve>
bool resolve_alike(const Resolve& resolve, const architectures::AdapterSpec& one,
                   const architectures::AdapterSpec& other) {
  try {
    return resolve(one) == resolve(other);
  } catch (const Error&) {
    return false;
  }
}

// Lists that name the same modules of the plan's model in other words become one, and others are put in order: peft writes sets,
// and every name that a head may have.
void take_same_names(const plan::RunPlan& plan, architectures::AdapterSpec& saved,
                     architectures::AdapterSpec& own) {
  const auto model = architectures::Architecture::from_config(plan.model.config, "the plan",
                                                              tasks::row_of(plan.data.task).head);
  const architectures::ParameterTable& table = model->parameters();
  const std::string& type = plan.model.model_type;
  const auto targets = [&](const auto& spec) { return architectures::adapted_modules(table, spec, type); };
  const auto whole = [&](const auto& spec) { return architectures::saved_whole(table, spec, type); };
  const bool same_targets = resolve_alike(targets, saved, own), same_whole = resolve_alike(whole, saved, own);
  if (same_targets) saved.targets = own.targets;
  if (same_whole) saved.saved_modules = own.saved_modules;
  for (architectures::AdapterSpec* spec : {&saved, &own}) {
    std::ranges::sort(spec->targets);
    std::ranges::sort(spec->saved_modules);
  }
}

// An adapter's config beside the model of the plan: another release may have called the modules otherwise.
Json with_names_of_now(const plan::RunPlan& plan, const std::string& path) {
  const std::string text = read_file(path);
  const architectures::AdapterSpec spec = architectures::adapter_from_json(parse_json(text, path), path);
  try {
    const auto beside = architectures::Architecture::from_config(plan.model.config, "the plan",
                                                                 tasks::row_of(plan.data.task).head, spec);
    return parse_json(architectures::with_names_in_memory(text, beside->parameters(), spec), path);
  } catch (const Error&) {
    // Of modules that this model does not have: another adapter, as is told then.
    return parse_json(text, path);
  }
}

}  // namespace

std::string check_resumed_adapter(const plan::RunPlan& plan, const std::string& checkpoint) {
  const std::string path = checkpoint + '/' + architectures::kAdapterConfigName;
  if (!path_exists(path) && plan.model.adapter) {
    if (interchange::is_in_parts(checkpoint) && interchange::is_fsdp_adapter(checkpoint)) return kOfParts;
    throw Error(ExitCode::kUsage, "the checkpoint holds no adapter")
        .where(checkpoint)
        .why("this run trains one")
        .hint("leave --use_peft out; or --model_name_or_path " + checkpoint +
              " begins an adapter beside its weights");
  }
  if (!path_exists(path)) return "";
  std::vector<std::string> different = {"it holds an adapter, and this run trains none"};
  if (plan.model.adapter) {
    architectures::AdapterSpec saved = architectures::adapter_from_json(with_names_of_now(plan, path), path);
    architectures::AdapterSpec own =
        architectures::adapter_from_json(parse_json(plan.model.adapter->config, "the plan"), "the plan");
    take_same_names(plan, saved, own);
    different = plan::identity_differences(plan::adapter_identity(saved), plan::adapter_identity(own));
  }
  if (different.empty()) return "";
  throw Error(ExitCode::kUsage, "the checkpoint's adapter is not that of this run")
      .where(path)
      .why(join(different, "; "))
      .hint("give the lora_* flags that it was trained with; --model_name_or_path " + checkpoint +
            " --use_peft begins a new run from it");
}

}  // namespace hftrain::front
