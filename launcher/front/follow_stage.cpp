#include "launcher/front/follow_stage.h"

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "hftrain/base/caught_error.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/disk_check.h"
#include "hftrain/plan/identity.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/file_system.h"
#include "launcher/control/follower.h"
#include "launcher/control/preflight.h"
#include "launcher/control/reach.h"
#include "launcher/environments/address_exchange.h"
#include "launcher/environments/local.h"
#include "launcher/front/cpu_binding_stage.h"
#include "launcher/front/data_stage.h"
#include "launcher/front/launch_stage.h"
#include "launcher/front/meeting_stage.h"
#include "launcher/front/output_stage.h"
#include "launcher/front/patient_stream.h"
#include "launcher/front/rank_output.h"
#include "launcher/front/run_console.h"
#include "launcher/front/run_record.h"
#include "launcher/front/told_in_a_line.h"

namespace hftrain::front {
namespace {

using launcher::Message;
using Paths = std::map<std::string, std::string>;

// A network file system may show a new file a moment later.
constexpr double kFolderSeconds = 3;
constexpr int kFolderMilliseconds = 200;

bool sees(const launcher::LookForFolder& question) {
  const double until = monotonic_seconds() + kFolderSeconds;
  while (true) {
    std::error_code ignored;
    // Listing the folder makes such a file system ask its server.
    const std::filesystem::directory_iterator listing(std::filesystem::path(question.path).parent_path(),
                                                      ignored);
    if (path_exists(question.path) && read_file(question.path) == question.mark) return true;
    if (monotonic_seconds() >= until) return false;
    ::poll(nullptr, 0, kFolderMilliseconds);
  }
}

// Without "." and a slash at its end.
std::string trimmed(const std::filesystem::path& path) {
  const std::filesystem::path normal = (path / ".").lexically_normal();
  return normal.parent_path().string();
}

bool all_exist(const Paths& paths) {
  for (const auto& [split, path] : paths) {
    if (!path_exists(path + ".idx")) return false;
  }
  return true;
}

void point_at(const Paths& paths, const char* name, std::optional<plan::SplitPlan>& split) {
  const auto found = paths.find(name);
  if (split && found != paths.end()) split->cache_path = found->second;
}

void check_model_folder(const plan::RunPlan& plan) {
  const std::string& folder = plan.model.source_folder;
  if (folder.empty() || path_exists(folder)) return;
  throw Error(ExitCode::kData, "the model's folder is not on this node")
      .where(folder)
      .why("every node reads the weights itself")
      .hint("a folder that all nodes share, or a copy at the same place on each");
}

// Node 0 has asked for its own disk. Throws an Error (kDisk) where not one checkpoint has room on this one; what it returns is a
// warning.
std::optional<Diagnostic> check_own_disk(plan::RunPlan& plan) {
  plan.disk.free_bytes = static_cast<int64_t>(free_bytes(plan.output_dir));
  plan::Problems problems;
  plan::check_disk(plan, problems);
  problems.throw_if_any();
  return plan::disk_too_small_for_all(plan);
}

class FollowStage {
 public:
  FollowStage(const CommandContext& context, const Inputs& inputs, const launcher::Membership& membership,
              reporting::Console& console)
      : context_(context),
        inputs_(inputs),
        membership_(membership),
        console_(console),
        signals_(inputs.parsed.arguments.launch.signals_to_handle) {}

  ExitCode run() {
    PatientStream terminal(context_.err);
    terminal.hurry();  // the leader's is the one that matters
    launcher::Joined joined = meet({});
    answer_port_ = std::move(joined.answer_port);
    leader_address_ = joined.link.peer_address();
    if (!membership_.assigned) console_.line("joined " + joined.leader + "; its terminal shows the run");
    launcher::Follower follower(joined.link, joined.leader, signals_);
    follower_ = &follower;
    try {
      while (!follower.verdict()) obey(follower.next());
    } catch (const launcher::JobEnded& end) {
      if (end.code() == ExitCode::kWorkerLost) throw;  // nobody else can tell it
      say_end(end);
      return end.code();
    }
    follower.leave();
    const launcher::JobVerdict& verdict = *follower.verdict();
    if (output_ && output_->place() && verdict.summary.is_object())
      write_summary(*output_->place(), verdict.summary);
    if (!membership_.assigned && !verdict.text.empty()) console_.result(verdict.text);
    return static_cast<ExitCode>(verdict.exit_code);
  }

  ExitCode decline(const Error& failure) {
    PatientStream terminal(context_.err);
    terminal.hurry();
    if (!membership_.assigned) context_.err << failure.render() << std::endl;
    bool told = false;
    try {
      launcher::Joined joined = meet(failure);
      launcher::Follower follower(joined.link, joined.leader, signals_);
      while (!follower.verdict()) follower.next();
    } catch (const launcher::JobEnded& end) {
      told = end.code() == failure.code();
    } catch (...) {
      // Not reached: this node will be missed there.
    }
    // Where ranks share the leader's terminal it has said it.
    if (membership_.assigned && !told) context_.err << failure.render() << std::endl;
    return failure.code();
  }

 private:
  launcher::Joined meet(const std::optional<Error>& failure) {
    exchange_ = launcher::make_address_exchange(membership_, context_.program, context_.environment);
    launcher::MeetingSpec spec = meeting_spec(context_, inputs_, membership_, exchange_.get());
    spec.failure = failure;
    return launcher::join_leader(std::move(spec), signals_, [&](const std::string& text) {
      if (!failure) show_notice(text, console_);
    });
  }

  // A failure of this agent's own, whatever it was, goes to the leader, which ends the job for all with it.
  void obey(const Message& message) {
    try {
      if (const auto* peers = std::get_if<launcher::TryPeers>(&message)) {
        return try_peers(peers->peers);
      }
      answer_port_.reset();  // all have tried
      if (const auto* look = std::get_if<launcher::LookForFolder>(&message)) look_for_folder(*look);
      if (const auto* data = std::get_if<launcher::PrepareData>(&message)) prepare(*data);
      if (const auto* plan = std::get_if<launcher::TakePlan>(&message)) take_plan(*plan);
      if (const auto* start = std::get_if<launcher::StartWorkers>(&message)) start_workers(*start);
    } catch (const launcher::JobEnded&) {
      throw;
    } catch (...) {
      const Error error = error_of(std::current_exception());
      console_.result(launcher::name_of(facts_here()) + ": " + error.what());
      follower_->say(launcher::failure_of(error));
    }
  }

  // The leader has said it all; where ranks share its terminal that is enough.
  void say_end(const launcher::JobEnded& end) const {
    if (membership_.assigned) return;
    const std::string& why = end.diagnostics().front().why;
    console_.result(std::string(end.what()) + (why.empty() ? "" : ": " + in_a_line(why)));
  }

  plan::AgentFacts facts_here() const {
    plan::AgentFacts facts;
    facts.agent = membership_.agent;
    return facts;
  }

  // Of the agents of a machine only one has been told to the others, and tries them.
  void try_peers(std::vector<launcher::Peer> peers) {
    const auto here = std::find_if(peers.begin(), peers.end(), [&](const launcher::Peer& peer) {
      return peer.agent == membership_.agent;
    });
    launcher::PeersTried tried;
    if (here != peers.end()) {
      peers.erase(here);
      // The leader may have several addresses; this is the one that is used here.
      if (!peers.empty() && peers.front().agent == 0) peers.front().address = leader_address_;
      follower_->run_in_background([&](const std::atomic<bool>&) {
        for (const auto& [agent, why] : launcher::unreached(peers, launcher::kReachSeconds))
          tried.closed[std::to_string(agent)] = why;
      });
    }
    follower_->say(tried);
  }

  // Nothing is read or written for node 0 but in the folder that this node was started with. A relative one
  // may begin elsewhere.
  void check_output_folder(const std::string& told) const {
    const std::filesystem::path given = inputs_.parsed.arguments.output.output_dir.value();
    const std::string own = given.is_absolute() ? inputs_.output_dir : '/' + trimmed(given);
    if (given.is_absolute() ? told == own : told.ends_with(own)) return;
    throw Error(ExitCode::kUsage, "node 0 names an output folder that is not this node's")
        .where(inputs_.parsed.origins.describe("output_dir"))
        .why("it is " + told + " there, and " + inputs_.output_dir + " here")
        .hint("start every node with the same arguments");
  }

  // With save_on_each_node the folders may have different names.
  void look_for_folder(launcher::LookForFolder question) {
    const std::filesystem::path mark = question.path;
    const bool each_node = inputs_.parsed.arguments.saving.save_on_each_node;
    if (each_node) {
      question.path = run_folder(inputs_.output_dir).path + '/' + mark.filename().string();
    } else {
      check_output_folder(mark.parent_path().parent_path().string());
    }
    std::vector<std::string> lines;
    follower_->run_in_background([&](const std::atomic<bool>&) {
      folder_seen_ = sees(question);
      own_folder_ = each_node && !folder_seen_;
      const bool first_of_node = !membership_.assigned || membership_.assigned->local_rank <= 0;
      if (!own_folder_ || !first_of_node) return;
      output_.emplace(inputs_, [this](const std::string& line) { console_.line(line); });
      lines = output_->cleared();
      if (!inputs_.parsed.arguments.output.overwrite_output_dir) return;
      // Moved aside before other programs of this machine write into the new one.
      for (std::string& line : output_->begin(paths_)) lines.push_back(std::move(line));
    });
    for (const std::string& line : lines) console_.line(line);
    follower_->say(launcher::FolderSeen{folder_seen_});
  }

  void prepare(const launcher::PrepareData& asked) {
    paths_ = asked.paths;
    follower_->run_in_background([&](const std::atomic<bool>& stop) {
      if (all_exist(asked.paths)) return;
      prepared_ = prepare_data_until(prepare_request(inputs_), console_, stop);
      if (!prepared_) throw stopped_while_preparing();
      paths_ = paths_of(*prepared_);
    });
    follower_->say(launcher::DataPrepared{paths_});
  }

  void take_plan(const launcher::TakePlan& message) {
    plan_ = plan::run_plan_from_json(message.plan, "the plan of node 0");
    point_at(paths_, "train", plan_.data.train);
    point_at(paths_, "validation", plan_.data.validation);
    point_at(paths_, "test", plan_.data.test);
    point_at(paths_, "validation_mismatched", plan_.data.validation_mismatched);
    point_at(paths_, "test_mismatched", plan_.data.test_mismatched);
    CheckpointMark checkpoint;
    std::optional<Diagnostic> note;
    follower_->run_in_background([&](const std::atomic<bool>&) {
      if (own_folder_) plan_ = plan_for_own_folder(plan_, inputs_);
      if (own_folder_ && output_) note = check_own_disk(plan_);
      checkpoint = checkpoint_mark(plan_.saving.resume_from);
    });
    if (note) show({*note}, console_);
    if (checkpoint != CheckpointMark{message.step, message.files}) {  // node 0 ends the job and says why
      follower_->say(launcher::PlanTaken{{}, checkpoint.step, checkpoint.files});
      return;
    }
    make_place_for_plan(message);
    follower_->say(launcher::PlanTaken{plan_path_, checkpoint.step, checkpoint.files});
  }

  // Where this machine's workers read it, unless node 0 has written the same there. In a folder that others may still move
  // back it is written no sooner than ranks start.
  void make_place_for_plan(const launcher::TakePlan& of_node_0) {
    if (own_folder_) {
      std::vector<std::string> lines;
      follower_->run_in_background([&](const std::atomic<bool>&) {
        if (!output_) return;
        output_->begin();
        storage::PosixFileSystem files;
        // Of an attempt that ended in the middle of a save.
        lines = storage::clean_leftovers(files, plan_.output_dir);
        const std::vector<std::string> moved = output_->move_aside(
            checkpoints_named(plan_.output_dir, of_node_0.aside), "which node 0 passes over");
        lines.insert(lines.end(), moved.begin(), moved.end());
      });
      for (const std::string& line : lines) console_.line(line);
    } else {
      check_output_folder(plan_.output_dir);
    }
    plan_path_ = run_folder(plan_.output_dir).plan();
    const Json own = plan::to_json_value(plan_);
    const bool own_place = own_folder_ && output_;  // and nobody else's plan in it
    const bool differs = !own_place && (!folder_seen_ || own != of_node_0.plan);
    if (differs)
      plan_path_ =
          run_folder(plan_.output_dir).path + "/nodes/" + std::to_string(membership_.agent) + "/plan.json";
    unwritten_ = differs ? dump_json(own) + '\n' : "";
    follower_->run_in_background([&](const std::atomic<bool>&) {
      if (own_place) write_arguments(run_folder(inputs_.output_dir), inputs_, context_, plan_.ranks.backend);
      check_model_folder(plan_);
      if (!own_place) return;
      set_summary_aside(run_folder(plan_.output_dir));
      write_file_atomically(plan_path_, dump_json(own) + '\n');
    });
  }

  // Node 0 starts ranks once its folder stays what it is, and so does who has made this node's.
  void write_plan() {
    if (unwritten_.empty()) return;
    follower_->run_in_background(
        [&](const std::atomic<bool>&) { write_file_atomically(plan_path_, unwritten_); });
    unwritten_.clear();
  }

  void start_workers(const launcher::StartWorkers& start) {
    if (output_) output_->keep();
    write_plan();
    launcher::LocalLaunch launch;
    launch.worker_program = worker_program(context_.program, inputs_.parsed);
    launch.plan_path = plan_path_;
    launch.environment = inputs_.environment;
    launch.full_determinism = plan_.full_determinism;
    launch.master_address = start.master_address;
    launch.master_port = start.master_port;
    launch.attempt = start.attempt;
    launch.agent = membership_.agent;
    std::vector<launcher::WorkerSpec> workers = launcher::local_workers(plan_.ranks, launch);
    bind_workers(inputs_.parsed, inputs_.topology, plan_.ranks, workers);
    follower_->run(std::move(workers), rank_output(inputs_.parsed, plan_, membership_.agent, start.attempt));
  }

  const CommandContext& context_;
  const Inputs& inputs_;
  const launcher::Membership& membership_;
  reporting::Console& console_;
  launcher::StopSignals signals_;
  launcher::Follower* follower_ = nullptr;
  std::unique_ptr<launcher::AddressExchange> exchange_;
  std::unique_ptr<launcher::AnswerPort> answer_port_;  // until all have tried it
  std::string leader_address_;
  bool folder_seen_ = false;                    // node 0's output folder is this one's too
  bool own_folder_ = false;                     // else, where that is wanted
  std::optional<OutputFolder> output_;          // the own one
  std::optional<data::PreparedData> prepared_;  // of this machine; nobody removes it while this lives
  Paths paths_;
  plan::RunPlan plan_;
  std::string plan_path_;
  std::string unwritten_;  // what goes there when ranks start; empty: it is there
};

}  // namespace

ExitCode follow(const CommandContext& context, const Inputs& inputs, const launcher::Membership& membership,
                reporting::Console& console) {
  return FollowStage(context, inputs, membership, console).run();
}

ExitCode decline(const CommandContext& context, const Inputs& inputs, const launcher::Membership& membership,
                 reporting::Console& console, const Error& failure) {
  return FollowStage(context, inputs, membership, console).decline(failure);
}

}  // namespace hftrain::front
