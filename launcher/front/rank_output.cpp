#include "launcher/front/rank_output.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "hftrain/base/text.h"
#include "launcher/front/rank_words.h"
#include "launcher/front/run_record.h"

namespace hftrain::front {
namespace {

// The ranks that --local_ranks_filter names on this agent's machine.
std::set<int> ranks_named(const std::string& local_ranks, const plan::RanksPlan& ranks, int agent) {
  const std::vector<std::string> names = split(local_ranks, ',');
  std::set<int> named;
  for (const plan::RankPlan& rank : ranks.ranks) {
    const std::string local_rank = std::to_string(rank.local_rank);
    if (rank.agent == agent && std::find(names.begin(), names.end(), local_rank) != names.end())
      named.insert(rank.rank);
  }
  return named;
}

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
  spec.filter =
      launcher::OutputFilter(filtered && !others_named ? "all" : asked.log_ranks, asked.tee, asked.redirects);
  if (filtered) spec.filter.keep_only(ranks_named(asked.local_ranks_filter, plan.ranks, agent));
  spec.duplicated = {{launcher::Stream::kOut, asked.duplicate_stdout_filters},
                     {launcher::Stream::kErr, asked.duplicate_stderr_filters}};
  spec.words = [&plan](const plan::WorkerEvent& event) { return lines_for_log(plan, event); };
  // Appending from several machines to one file of a network file system loses lines.
  if (const int node = node_of(plan.ranks, agent); node > 0) spec.machine = ".node" + std::to_string(node);
  return spec;
}

}  // namespace hftrain::front
