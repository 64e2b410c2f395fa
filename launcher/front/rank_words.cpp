#include "launcher/front/rank_words.h"

#include <algorithm>
#include <map>
#include <utility>

#include "hftrain/base/log_level.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/reporting/event_text.h"

namespace hftrain::front {
namespace {

using Kind = plan::WorkerEvent::Kind;

// By --log_level or --log_level_replica.
LogLevel threshold_of(const plan::RunPlan& plan, int number) {
  const auto& ranks = plan.ranks.ranks;
  const auto rank = std::find_if(ranks.begin(), ranks.end(),
                                 [&](const plan::RankPlan& each) { return each.rank == number; });
  return rank == ranks.end() ? LogLevel::kDebug
                             : log_level_named(plan.logging.level_of(*rank), LogLevel::kInfo);
}

bool is_wanted(const plan::RunPlan& plan, const plan::WorkerEvent& message) {
  return message.data.value("level", static_cast<int>(LogLevel::kInfo)) >=
         static_cast<int>(threshold_of(plan, message.rank));
}

const char* name_of_rank_0(Kind kind) {
  switch (kind) {
    case Kind::kProgress:
      return "progress";
    case Kind::kStep:
      return "step";
    case Kind::kLog:
      return "log";
    case Kind::kMetrics:
      return "metrics";
    case Kind::kCheckpoint:
      return "checkpoint";
    default:
      return nullptr;
  }
}

}  // namespace

const char* name_for_people(const plan::RunPlan& plan, const plan::WorkerEvent& event) {
  if (event.kind == Kind::kMessage) return is_wanted(plan, event) ? "message" : nullptr;
  return event.rank == 0 ? name_of_rank_0(event.kind) : nullptr;
}

std::string lines_for_log(const plan::RunPlan& plan, const plan::WorkerEvent& event) {
  const char* name = name_for_people(plan, event);
  const bool is_detail = event.kind == Kind::kCheckpoint && threshold_of(plan, event.rank) > LogLevel::kInfo;
  return name == nullptr || is_detail ? "" : reporting::event_lines(name, event.data);
}

std::set<int> named_by_local_ranks(const std::string& list, const plan::RanksPlan& ranks,
                                   std::optional<int> agent) {
  std::set<int> local_ranks, named;
  for (const std::string& part : split(list, ',')) {
    if (const std::optional<int> number = whole_number(trim(part))) local_ranks.insert(*number);
  }
  for (const plan::RankPlan& rank : ranks.ranks) {
    if ((!agent || rank.agent == *agent) && local_ranks.contains(rank.local_rank)) named.insert(rank.rank);
  }
  return named;
}

launcher::OutputFilter filter_of(const std::string& log_ranks, const arguments::LaunchArguments& asked,
                                 const plan::RanksPlan& ranks) {
  launcher::OutputFilter filter(log_ranks, asked.tee, asked.redirects);
  std::map<int, int> local_ranks;
  for (const plan::RankPlan& rank : ranks.ranks) local_ranks[rank.rank] = rank.local_rank;
  filter.count_on_machines(std::move(local_ranks));
  return filter;
}

launcher::OutputFilter shown_words(const arguments::ParseOutcome& parsed, const plan::RunPlan& plan) {
  const arguments::LaunchArguments& asked = parsed.arguments.launch;
  launcher::OutputFilter filter =
      filter_of(parsed.origins.is_chosen("log_ranks") ? asked.log_ranks : "all", asked, plan.ranks);
  if (asked.local_ranks_filter.empty()) return filter;
  filter.keep_only(named_by_local_ranks(asked.local_ranks_filter, plan.ranks));
  return filter;
}

}  // namespace hftrain::front
