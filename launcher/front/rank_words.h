// What ranks say of the run by events: headers, records, metrics, warnings.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "hftrain/arguments/parse.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/plan/worker_protocol.h"
#include "launcher/process/output_router.h"

namespace hftrain::front {

// The console's name of an event; null of one that only the launcher reads, that rank 0 alone tells people, or that is below the
// rank's log level.
const char* name_for_people(const plan::RunPlan& plan, const plan::WorkerEvent& event);
// Its lines for the rank's log, where --progress and --quiet do not count; empty: none.
std::string lines_for_log(const plan::RunPlan& plan, const plan::WorkerEvent& event);

// The ranks of which a list of local ranks ("0, 2") names the own, of one agent or of all.
std::set<int> named_by_local_ranks(const std::string& list, const plan::RanksPlan& ranks,
                                   std::optional<int> agent = std::nullopt);

// What --tee and --redirects leave of those ranks ("all", "0,1") on the console; both name ranks by their numbers on their machines, as
// torchrun's do.
launcher::OutputFilter filter_of(const std::string& log_ranks, const arguments::LaunchArguments& asked,
                                 const plan::RanksPlan& ranks);

// Whose words the console shows: all ranks', or those whose stderr --log_ranks, --tee, --redirects and --local_ranks_filter leave on it.
launcher::OutputFilter shown_words(const arguments::ParseOutcome& parsed, const plan::RunPlan& plan);

}  // namespace hftrain::front
