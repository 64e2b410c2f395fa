#include <algorithm>
#include <set>

#include "hftrain/base/text.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/tasks/label_set.h"

namespace hftrain::plan {
namespace {

constexpr size_t kMostNamed = 10;

std::string named(const std::set<std::string>& labels) {
  std::vector<std::string> shown(labels.begin(), labels.end());
  const bool more = shown.size() > kMostNamed;
  if (more) shown.resize(kMostNamed);
  return join(shown, ", ") + (more ? ", …" : "");
}

// Empty: the config has the names that transformers makes up.
std::set<std::string> labels_of(const Json& config) {
  const auto found = tasks::LabelSet::of_config(config);
  if (!found) return {};
  return {found->names().begin(), found->names().end()};
}

}  // namespace

void note_labels(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const bool labelled = task_row(input.parsed).config_changes != nullptr;
  if (!labelled || !plan.do_train || input.model.source_folder.empty()) return;
  const std::set<std::string> of_model = labels_of(input.model.architecture->config_json()),
                              of_run = labels_of(plan.model.config);
  if (of_model.empty() || of_run.empty() || of_model == of_run) return;
  notes.push_back({Diagnostic::Severity::kWarning,
                   "the model was trained for other labels than the data have, and theirs are taken",
                   input.model.source_folder,
                   "the model's are " + named(of_model) + "; those of the data " + named(of_run),
                   "its head keeps its numbers, which stood for the others"});
}

}  // namespace hftrain::plan
