#include <algorithm>
#include <string>
#include <vector>

#include "hftrain/base/text.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/tasks/label_set.h"

namespace hftrain::plan {
namespace {

constexpr size_t kMostNamed = 10;

// Some, from number `first` on.
std::string some_of(const std::vector<std::string>& labels, size_t first) {
  const size_t end = std::min(labels.size(), first + kMostNamed);
  const auto at = [&](size_t number) { return labels.begin() + static_cast<std::ptrdiff_t>(number); };
  const std::string shown = join(std::vector<std::string>(at(std::min(first, end)), at(end)), ", ");
  return (first > 0 ? "…, " : "") + shown + (end < labels.size() ? ", …" : "");
}

// By their numbers. Empty: the config has the names that transformers makes up.
std::vector<std::string> labels_of(const Json& config) {
  const auto found = tasks::LabelSet::of_config(config);
  return found ? found->names() : std::vector<std::string>();
}

}  // namespace

void note_labels(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const bool labelled = task_row(input.parsed).config_changes != nullptr;
  if (!labelled || !plan.do_train || input.model.source_folder.empty()) return;
  const std::vector<std::string> of_model = labels_of(input.model.architecture->config_json()),
                                 of_run = labels_of(plan.model.config);
  if (of_model.empty() || of_run.empty() || of_model == of_run) return;
  if (std::ranges::equal(of_model, of_run, {}, to_lower, to_lower)) return;  // a GLUE task's, in capitals
  const bool reordered = std::ranges::is_permutation(of_model, of_run);
  const auto apart = reordered ? std::ranges::mismatch(of_model, of_run).in1 : of_model.begin();
  const auto first = static_cast<size_t>(apart - of_model.begin());
  notes.push_back(
      {Diagnostic::Severity::kWarning,
       reordered ? "the model has the labels of the data in another order, and theirs is taken"
                 : "the model was trained for other labels than the data have, and theirs are taken",
       input.model.source_folder,
       "the model's are " + some_of(of_model, first) + "; those of the data " + some_of(of_run, first),
       of_model.size() == of_run.size() ? "its head keeps its numbers, which stood for the others"
                                        : "a head of another size is taken with --ignore_mismatched_sizes, "
                                          "and starts from random numbers"});
}

}  // namespace hftrain::plan
