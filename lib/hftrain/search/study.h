// The trials of a search: what was tried, what came of it, what to try next. Kept as search.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/search/specification.h"

namespace hftrain::search {

enum class TrialState {
  kRunning,   // begun; of a search that was killed: to be gone on with
  kComplete,  // ended well, with a metric
  kPruned,    // stopped by asha, with the metric that it had
  kFailed,    // ended badly, or without the metric
};
const char* trial_state_name(TrialState state);

struct Trial {
  int number = 0;                    // from 0
  Json parameters = Json::object();  // flag -> value
  TrialState state = TrialState::kRunning;
  std::optional<double> metric;
  // Of one that has failed: what its run ended with or, where that ended well, the code of what is wrong with its metric. Unset in a
  // search.json of an earlier version.
  std::optional<int> exit_code;
  std::string folder;  // its run's output folder
};

class Study {
 public:
  // Of `folder`, whose search.json it goes on from when there is one. `flags`: what all trials have in common, by name; an earlier
  // version has recorded none, and others as `compared` brings up to date. Error(kUsage) when the search there is another one or its
  // trials have other flags; Error(kData) when it is damaged.
  Study(Specification specification, std::string folder, Json flags = Json::object(),
        Json (*compared)(Json recorded) = nullptr);

  const Specification& specification() const { return specification_; }
  const std::vector<Trial>& trials() const { return trials_; }
  // Those that were running when search.json was read, by number.
  std::vector<int> interrupted() const;
  // Whether begin() would give none.
  bool all_begun() const { return !next_parameters(); }
  // "max_steps: 4 there, 8 here" of what `flags` say otherwise than those on record; empty: nothing.
  std::string differences(const Json& flags) const;
  // A further trial, running, or nothing: all were begun. Saved when it returns, so that none is run twice.
  std::optional<int> begin();
  // Puts the number of ranks of a trial that has begun on record when it is the first. Error(kUsage), with both numbers, when it is
  // not that of the trials before. An earlier version has recorded none.
  void require_world_size(int number, int world_size);
  // Saved when it returns. `exit_code`: of Trial, should it have failed.
  void end(int number, TrialState state, std::optional<double> metric,
           std::optional<int> exit_code = std::nullopt);

  // By the metric, of those that are complete.
  const Trial* best() const;
  const Trial* first_failed() const;
  std::string path() const { return folder_ + "/search.json"; }
  // search.json, and `--json`.
  Json document() const;

 private:
  std::string folder_of(int number) const { return folder_ + "/trial-" + std::to_string(number); }
  void load(Json (*compared)(Json));
  void save() const;
  std::optional<Json> next_parameters() const;

  Specification specification_;
  std::string folder_;
  Json flags_;
  std::optional<int> world_size_;  // of every trial
  std::vector<Trial> trials_;
};

// For people: a line per trial; a star marks the best.
std::string table_of(const Study& study);

}  // namespace hftrain::search
