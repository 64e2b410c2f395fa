#include "launcher/front/trial_lines.h"

#include <sstream>

#include "hftrain/base/text.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

search::Study study_of_two(const std::string& folder) {
  search::Specification specification;
  specification.method = search::Method::kGrid;
  specification.space = {{.flag = "seed", .choices = {1, 2}}};
  return search::Study(specification, folder);
}

std::string told(bool quiet, const std::string& folder) {
  std::ostringstream out;
  reporting::Console console(out, {.progress = reporting::ProgressStyle::kNone,
                                   .color = false,
                                   .width = 80,
                                   .quiet = quiet,
                                   .threshold = LogLevel::kInfo});
  search::Study study = study_of_two(folder);
  TrialLines lines(console);
  lines.waits_for({}, 5);
  lines.begins(study.trials()[static_cast<size_t>(*study.begin())], false, 10);
  const auto all = [&] { return std::vector<const search::Trial*>{&study.trials()[0]}; };
  for (const double now : {11.0, 19.0, 20.0, 25.0, 29.0, 31.0, 49.0, 51.0}) lines.waits_for(all(), now);
  study.end(0, search::TrialState::kComplete, 0.5);
  lines.ends(study, study.trials()[0], true, 60);
  lines.begins(study.trials()[static_cast<size_t>(*study.begin())], true, 60);
  lines.waits_for(all(), 71);
  study.end(1, search::TrialState::kFailed, std::nullopt, 4);
  lines.ends(study, study.trials()[1], false, 90);
  lines.says("stopping", 91);
  return out.str();
}

TEST_CASE("a search says which trial begins with what, and after ten seconds of silence what it waits for") {
  const testing::TemporaryDirectory folder;
  const std::string at = folder / "s";
  CHECK(told(false, at) ==
        "trial 0 begins: --seed=1\n"
        "still waiting for trial 0 (0:00:10); what it says: " +
            at + "/trial-0.log\nstill waiting for trial 0 (0:00:21); what it says: " + at +
            "/trial-0.log\nstill waiting for trial 0 (0:00:41); what it says: " + at +
            "/trial-0.log\n"
            "trial 0: complete, eval_loss 0.5 (best: trial 0, 0.5)\n"
            "trial 1 goes on: --seed=2\n"
            "still waiting for trial 0 (0:00:11); what it says: " +
            at + "/trial-0.log\ntrial 1: failed: see " + at +
            "/trial-1.log (best: trial 0, 0.5)\nstopping\n");
}

TEST_CASE("a quiet search says what failed and why it stops, and no more") {
  const testing::TemporaryDirectory folder;
  CHECK(told(true, folder / "s") ==
        "trial 1: failed: see " + (folder / "s") + "/trial-1.log (best: trial 0, 0.5)\nstopping\n");
}

}  // namespace
}  // namespace hftrain::front
