#include "launcher/front/rank_output.h"

#include <string>

#include "launcher/front/rank_words.h"
#include "launcher/front/run_record.h"

namespace hftrain::front {
namespace {

int node_of(const plan::RanksPlan& ranks, int agent) {
  for (const plan::RankPlan& rank : ranks.ranks) {
    if (rank.agent == agent) return rank.node;
  }
  return 0;
}

}  // namespace

launcher::OutputSpec rank_output(const arguments::ParseOutcome& parsed, const plan::RunPlan& plan, int agent,
                                 int attempt) {
  const arguments::LaunchArguments& asked = parsed.arguments.launch;
  const bool filtered = !asked.local_ranks_filter.empty();
  const bool others_named = parsed.origins.is_chosen("log_ranks") || parsed.origins.is_chosen("tee");
  launcher::OutputSpec spec;
  spec.folder = run_folder(plan.output_dir, asked.log_dir).ranks() + '/' + std::to_string(attempt);
  spec.filter = filter_of(filtered && !others_named ? "all" : asked.log_ranks, asked, plan.ranks);
  if (filtered) spec.filter.keep_only(named_by_local_ranks(asked.local_ranks_filter, plan.ranks, agent));
  spec.duplicated = {{launcher::Stream::kOut, asked.duplicate_stdout_filters},
                     {launcher::Stream::kErr, asked.duplicate_stderr_filters}};
  spec.words = [&plan](const plan::WorkerEvent& event) { return lines_for_log(plan, event); };
  // Appending from several machines to one file of a network file system loses lines.
  if (const int node = node_of(plan.ranks, agent); node > 0) spec.machine = ".node" + std::to_string(node);
  return spec;
}

}  // namespace hftrain::front
