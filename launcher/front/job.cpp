#include "launcher/front/job.h"

#include <filesystem>
#include <ostream>
#include <set>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/plan/identity.h"
#include "launcher/control/background_work.h"
#include "launcher/control/preflight.h"
#include "launcher/environments/address_exchange.h"
#include "launcher/environments/local.h"
#include "launcher/front/data_stage.h"
#include "launcher/front/meeting_stage.h"
#include "launcher/front/output_stage.h"
#include "launcher/front/run_console.h"
#include "launcher/front/run_record.h"

namespace hftrain::front {
namespace {

using launcher::DataPrepared;
using launcher::FolderSeen;
using launcher::PlanTaken;

// A file that no other run makes, for others to look for.
class Mark {
 public:
  explicit Mark(const std::string& output_dir)
      : path_(output_dir + "/hftrain/.seen-by-all"),
        text_(output_dir + ' ' + std::to_string(unix_seconds())) {
    write_file_atomically(path_, text_);
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }

 private:
  std::string path_, text_;
};

void warn_of_taken_port(const Error& error, const std::string& instead, reporting::Console& console) {
  const Diagnostic& taken = error.diagnostics().front();
  console.message(LogLevel::kWarning,
                  taken.what + ": " + taken.why + "; the ranks meet at " + instead + " instead");
}

int node_of(int agent, const plan::RunPlan& plan) {
  for (const plan::RankPlan& rank : plan.ranks.ranks) {
    if (rank.agent == agent) return rank.node;
  }
  return 0;
}

// Each node reads what it has under that name.
Error another_checkpoint(const std::string& from, const CheckpointMark& own, const std::string& node,
                         const CheckpointMark& there, const std::string& leader) {
  std::string why = "both are at step " + std::to_string(own.step) + ", and their files are not the same";
  if (there.step != own.step)
    why = "it is at step " + std::to_string(there.step) + " there, and at step " + std::to_string(own.step) +
          " on " + leader;
  if (there.files.empty()) why = "there is none there";
  return Error(ExitCode::kData, "the nodes would not go on from the same checkpoint")
      .where(from + " on " + node)
      .why(why)
      .hint("copy that of " + leader + " to every node, or name a folder that all nodes share");
}

}  // namespace

Job::Job(const CommandContext& context, Inputs& inputs, const launcher::Membership& membership,
         reporting::Console& console, Say say)
    : inputs_(inputs), console_(console), say_(std::move(say)) {
  if (membership.agents == 1) return;
  signals_ = std::make_unique<launcher::StopSignals>(inputs.parsed.arguments.launch.signals_to_handle);
  exchange_ = launcher::make_address_exchange(membership, context.program, context.environment);
  const launcher::NoticeSink notice = [&console](const std::string& text) { show_notice(text, console); };
  launcher::MeetingSpec spec = meeting_spec(context, inputs, membership, exchange_.get());
  spec.before_refusal = say_;
  launcher::Gathering gathering = launcher::gather_agents(std::move(spec), *signals_, notice);
  hub_ = std::move(gathering.hub);
  answer_port_ = std::move(gathering.answer_port);
  leader_ = std::make_unique<launcher::Leader>(*hub_, *signals_, notice);
  for (const launcher::Introduction& agent : gathering.agents) inputs.agents.push_back(agent.facts);
  for (const std::string& line : launcher::describe_agents(gathering.agents)) console.line(line);
  introductions_ = std::move(gathering.agents);
}

void Job::check_network() {
  const std::vector<launcher::Peer> peers = launcher::peers_of(introductions_);
  if (!alone() && peers.size() > 1) try_peers(peers);
  answer_port_.reset();
  introductions_.clear();
}

void Job::try_peers(const std::vector<launcher::Peer>& peers) {
  launcher::Unreached unreached;
  launcher::BackgroundWork own([&](const std::atomic<bool>&) {
    unreached[0] = launcher::unreached({peers.begin() + 1, peers.end()}, launcher::kReachSeconds);
  });
  const auto answers =
      leader_->ask_for<launcher::PeersTried>(launcher::TryPeers{peers}, "to try the other nodes");
  own.finish();
  for (const auto& [agent, answer] : answers) {
    for (const auto& [name, why] : answer.closed) {
      const std::optional<int> peer = whole_number(name);
      if (peer && *peer < hub_->agents()) unreached[agent][*peer] = why;
    }
  }
  const auto error = launcher::unreached_machines(introductions_, unreached);
  if (error) throw *error;
}

void Job::run_in_background(const std::function<void()>& work) {
  if (alone()) return work();
  leader_->run_in_background([&](const std::atomic<bool>&) { work(); });
}

void Job::beside_the_end(const std::function<void()>& work) {
  if (alone()) return work();
  hub_->run_in_background(work);
}

std::optional<data::PreparedData> Job::prepare(const data::PrepareRequest& request) {
  if (alone()) return prepare_data(request, console_);
  std::optional<data::PreparedData> prepared;
  leader_->run_in_background(
      [&](const std::atomic<bool>& stop) { prepared = prepare_data_until(request, console_, stop); });
  if (!prepared) throw stopped_while_preparing();
  const std::map<std::string, std::string> paths = paths_of(*prepared);
  const auto answers = leader_->ask_for<DataPrepared>(launcher::PrepareData{paths}, "to prepare the data");
  for (const auto& [agent, answer] : answers) {
    for (const auto& [split, path] : paths) {
      const auto found = answer.paths.find(split);
      const std::string there = found == answer.paths.end() ? "nothing" : plan::cache_entry(found->second);
      if (there == plan::cache_entry(path)) continue;
      throw Error(ExitCode::kData, "the data for " + split + " are not the same on all nodes")
          .where(hub_->name_of(agent))
          .why("prepared they are " + there + " there, and " + plan::cache_entry(path) + " on " +
               hub_->name_of(0))
          .hint("give every node the same files, or one cache folder that all see (HFTRAIN_CACHE)");
    }
  }
  return prepared;
}

void Job::look_for_output_folder(plan::RunPlan& plan) {
  // Results of an evaluation or a prediction alone rank 0 writes by itself.
  const bool each_node = inputs_.parsed.arguments.saving.save_on_each_node;
  if (alone() || !(plan.do_train || each_node)) return;
  std::optional<Mark> made;
  run_in_background([&] { made.emplace(plan.output_dir); });
  const auto answers = leader_->ask_for<FolderSeen>(launcher::LookForFolder{made->path(), made->text()},
                                                    "to look for the output folder");
  run_in_background([&] { made.reset(); });
  std::vector<std::string> blind;
  std::set<int> further;
  for (const auto& [agent, answer] : answers) {
    if (answer.seen) continue;
    if (each_node && node_of(agent, plan) > 0) {
      further.insert(node_of(agent, plan));
    } else {
      blind.push_back(hub_->name_of(agent));
    }
  }
  plan.saving.further_nodes.assign(further.begin(), further.end());
  if (each_node && further.empty() && plan.ranks.nodes > 1)
    console_.message(LogLevel::kInfo, "all nodes see one output folder, so every file is saved once");
  if (blind.empty()) return;
  throw Error(ExitCode::kEnvironment, "the output folder is not one folder on all nodes")
      .where(plan.output_dir + " (--output_dir)")
      .why(join(blind, ", ") + (blind.size() == 1 ? " does" : " do") + " not see what " + hub_->name_of(0) +
           " writes there, and a checkpoint has parts of every rank")
      .hint(each_node ? "one --output_dir for all programs of a machine"
                      : "an --output_dir on a file system that all nodes share, or --save_on_each_node");
}

void Job::share(const plan::RunPlan& plan, const std::vector<std::string>& aside) {
  if (alone()) return;
  const std::string& from = plan.saving.resume_from;
  CheckpointMark own;
  run_in_background([&] { own = checkpoint_mark(from); });
  const auto answers = leader_->ask_for<PlanTaken>(
      launcher::TakePlan{plan::to_json_value(plan), own.step, own.files, aside}, "to take the plan");
  for (const auto& [agent, answer] : answers) {
    const CheckpointMark there{answer.step, answer.files};
    if (there != own) throw another_checkpoint(from, own, hub_->name_of(agent), there, hub_->name_of(0));
  }
}

// Ranks of one machine meet on its loopback address.
std::string Job::address_for(int agent, const plan::RunPlan& plan) const {
  if (plan.ranks.machines == 1) return "127.0.0.1";
  if (machine_of(agent) != machine_of(0)) return hub_->address_towards(agent);
  for (int other = 1; other < hub_->agents(); ++other) {
    if (machine_of(other) != machine_of(0)) return hub_->address_towards(other);
  }
  return "127.0.0.1";
}

// A given port that is taken costs nobody a run of one machine: its ranks are told the one that they meet at.
launcher::Rendezvous Job::bind_here() const {
  const int port = static_cast<int>(inputs_.parsed.arguments.launch.master_port);
  if (!alone() || !inputs_.parsed.origins.is_given("master_port")) return launcher::bind_rendezvous();
  try {
    return launcher::bind_rendezvous(port);
  } catch (const Error& error) {
    launcher::Rendezvous free = launcher::bind_rendezvous();
    warn_of_taken_port(error, "port " + std::to_string(free.port), console_);
    return free;
  }
}

launcher::Rendezvous Job::bind_store(const plan::RunPlan& plan) const {
  if (plan.ranks.world_size > 1 && plan.ranks.machines == 1) launcher::require_loopback();
  if (alone() || plan.ranks.machines == 1) return bind_here();
  std::set<std::string> addresses;
  for (int agent = 0; agent < hub_->agents(); ++agent) addresses.insert(address_for(agent, plan));
  launcher::Rendezvous rendezvous = launcher::bind_rendezvous_at(addresses);
  rendezvous.address = address_for(0, plan);
  return rendezvous;
}

std::optional<launcher::Others> Job::others(const plan::RunPlan& plan, int attempt, int port) const {
  if (alone()) return std::nullopt;
  launcher::Others others;
  others.attempt = attempt;
  others.master_port = port;
  for (const plan::RankPlan& rank : plan.ranks.ranks) {
    if (rank.agent == 0) continue;
    others.workers.push_back({rank.rank, rank.agent, launcher::device_of(rank)});
    others.master_addresses[rank.agent] = address_for(rank.agent, plan);
  }
  return others;
}

void Job::end(ExitCode code, const std::string& line, const Json& summary) {
  if (!alone()) hub_->finish(launcher::JobVerdict{static_cast<int>(code), line, summary}, 2);
}

void Job::refuse(const Error& error) {
  if (alone()) return;
  say_(error);
  hub_->refuse_all(error);
}

int port_of_plan(int port, reporting::Console& console) {
  try {
    launcher::bind_rendezvous(port);
    return port;
  } catch (const Error& error) {
    warn_of_taken_port(error, "a free port", console);
    return 0;
  }
}

ExitCode abort_job(const CommandContext& context, const Inputs& inputs,
                   const launcher::Membership& membership, const Error& failure) {
  context.err << failure.render() << std::endl;
  try {
    launcher::StopSignals signals;
    const auto exchange = launcher::make_address_exchange(membership, context.program, context.environment);
    launcher::MeetingSpec spec = meeting_spec(context, inputs, membership, exchange.get());
    spec.failure = failure;
    launcher::gather_agents(std::move(spec), signals, [](const std::string&) {});
  } catch (...) {
    // This failure, or why nobody could be told.
  }
  return failure.code();
}

}  // namespace hftrain::front
