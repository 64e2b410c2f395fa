#include "launcher/front/rank_words.h"

#include "support/catch.h"

namespace hftrain::front {
namespace {

using Kind = plan::WorkerEvent::Kind;

plan::RunPlan two_ranks(const std::string& of_others) {
  plan::RunPlan plan;
  plan.ranks.ranks = {{.rank = 0, .local_rank = 0}, {.rank = 1, .local_rank = 1}};
  plan.logging.level = "info";
  plan.logging.replica_level = of_others;
  return plan;
}

// The ranks whose words are shown.
std::vector<int> shown(const std::vector<std::string>& flags, const plan::RunPlan& plan = two_ranks("info")) {
  std::vector<std::string> argv = {"--model_type", "gpt2", "--train_file", "a.txt", "--tokenizer_name", "t"};
  argv.insert(argv.end(), flags.begin(), flags.end());
  const auto filter = shown_words(arguments::parse_arguments(argv, Environment()), plan);
  std::vector<int> ranks;
  for (const int rank : {0, 1}) {
    if (filter.shows(rank, launcher::Stream::kErr)) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

TEST_CASE("words of all ranks are shown, or of those whose stderr a flag leaves on the terminal") {
  using Ranks = std::vector<int>;
  CHECK(shown({}) == Ranks{0, 1});
  CHECK(shown({"--log_ranks", "1"}) == Ranks{1});
  CHECK(shown({"--log_ranks", "0"}) == Ranks{0});
  CHECK(shown({"--local_ranks_filter", "1"}) == Ranks{1});
  CHECK(shown({"--local_ranks_filter", "0, 1"}) == Ranks{0, 1});
  CHECK(shown({"--log_ranks", " 0, 1"}) == Ranks{0, 1});
  CHECK(shown({"--redirects", "3"}).empty());
  CHECK(shown({"--redirects", "1"}) == Ranks{0, 1});
  CHECK(shown({"--redirects", "0:2"}) == Ranks{1});
  CHECK(shown({"--redirects", "3", "--tee", "0:2"}) == Ranks{0});
  plan::RunPlan two_machines = two_ranks("info");
  two_machines.ranks.ranks[1].local_rank = 0;
  CHECK(shown({"--redirects", "0:2"}, two_machines).empty());
  CHECK(shown({"--redirects", "1:2"}, two_machines) == Ranks{0, 1});
  CHECK(shown({"--redirects", "3", "--tee", "0:2"}, two_machines) == Ranks{0, 1});
  CHECK(shown({"--log_ranks", "1"}, two_machines) == Ranks{1});
}

TEST_CASE("the log of a rank has what it says of the run, from its log level on") {
  const plan::RunPlan plan = two_ranks("warning");
  const Json record = {{"record", {{"loss", 2.0}, {"epoch", 1.0}, {"step", 1}}}};
  CHECK(lines_for_log(plan, {Kind::kLog, 0, 0, record}) == "{'loss': '2', 'epoch': '1'}\n");
  CHECK(lines_for_log(plan, {Kind::kLog, 1, 0, record}).empty());
  CHECK(lines_for_log(plan, {Kind::kMetrics, 0, 0, {{"text", "***** eval *****\n"}}}) ==
        "***** eval *****\n");
  CHECK(lines_for_log(plan, {Kind::kStep, 0, 0, {{"step", 1}, {"total", 2}}}).empty());
  const Json note = {{"level", 20}, {"text", "a note"}}, warning = {{"level", 30}, {"text", "a fault"}};
  CHECK(lines_for_log(plan, {Kind::kMessage, 0, 0, note}) == "a note\n");
  CHECK(lines_for_log(plan, {Kind::kMessage, 1, 0, note}).empty());
  CHECK(lines_for_log(plan, {Kind::kMessage, 1, 0, warning}) == "warning: a fault\n");

  const Json saved = {{"step", 2}, {"path", "o/checkpoint-2"}, {"seconds", 0.5}};
  CHECK(lines_for_log(plan, {Kind::kCheckpoint, 0, 0, saved}) ==
        "Saving model checkpoint to o/checkpoint-2 (committed after 0.5 s)\n");
  plan::RunPlan quiet = plan;
  quiet.logging.level = "warning";
  CHECK(lines_for_log(quiet, {Kind::kCheckpoint, 0, 0, saved}).empty());
}

}  // namespace hftrain::front
