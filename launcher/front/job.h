// The job of a front program that leads it. With other front programs in the job (agents, on their machines)
// it meets them, hears what they have, sees to it that all have the same data, folder and plan, and says the
// last word. Alone, it only prepares the data.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/data/prepare_request.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/reporting/console.h"
#include "launcher/control/hub.h"
#include "launcher/control/job_worker_set.h"
#include "launcher/control/leader.h"
#include "launcher/control/reach.h"
#include "launcher/environments/address_exchange.h"
#include "launcher/environments/membership.h"
#include "launcher/front/command_context.h"
#include "launcher/front/inputs.h"
#include "launcher/supervision/rendezvous.h"

namespace hftrain::front {

class Job {
 public:
  // Tells the user why there is no run, before the others hear of it and end: mpirun then ends this program, too, and soon.
  using Say = std::function<void(const Error&)>;
  // Meets the others, if there are any; what they report goes to inputs.agents. Throws an Error when the job
  // cannot begin; all that have come know it then.
  Job(const CommandContext& context, Inputs& inputs, const launcher::Membership& membership,
      reporting::Console& console, Say say);

  bool alone() const { return hub_ == nullptr; }

  // Every machine tries to reach every other one. Throws an Error (kEnvironment) that names the pairs which
  // cannot.
  void check_network();
  // Does work that takes its time, during which the others must still hear of this agent. Throws what it
  // throws, and what ends the job meanwhile.
  void run_in_background(const std::function<void()>& work);
  // The same of what must be done whatever becomes of the others.
  void beside_the_end(const std::function<void()>& work);
  // prepare_data() here, then the same data there. Nothing when a signal stopped it (alone); otherwise that
  // is an Error.
  std::optional<data::PreparedData> prepare(const data::PrepareRequest& request);
  // Asks the others whether they see this agent's output folder. With save_on_each_node those that do not
  // have one of their own, and the plan is told of their nodes; else such a plan is refused (kEnvironment),
  // for its ranks save together.
  void look_for_output_folder(plan::RunPlan& plan);
  // Every agent has this plan when it returns. `aside`: names of checkpoints that were passed over, which nodes with an output folder
  // of their own move aside, too.
  void share(const plan::RunPlan& plan, const std::vector<std::string>& aside = {});

  // Where rank 0 serves the store, and what its machine's ranks are told of it.
  launcher::Rendezvous bind_store(const plan::RunPlan& plan) const;
  // What the others start in an attempt.
  std::optional<launcher::Others> others(const plan::RunPlan& plan, int attempt, int port) const;
  launcher::ControlHub* hub() { return hub_.get(); }

  // The end, said to all: the verdict in a line and as summary.json, or why there is no run.
  void end(ExitCode code, const std::string& line, const Json& summary);
  void refuse(const Error& error);

 private:
  void try_peers(const std::vector<launcher::Peer>& peers);
  launcher::Rendezvous bind_here() const;
  std::string address_for(int agent, const plan::RunPlan& plan) const;
  std::string machine_of(int agent) const { return inputs_.agents[static_cast<size_t>(agent)].machine; }

  const Inputs& inputs_;
  reporting::Console& console_;
  Say say_;
  std::unique_ptr<launcher::StopSignals> signals_;  // of a job of several, until workers run
  std::unique_ptr<launcher::AddressExchange> exchange_;
  std::vector<launcher::Introduction> introductions_;  // by agent; until the network was checked
  std::unique_ptr<launcher::ControlHub> hub_;
  std::unique_ptr<launcher::Leader> leader_;
  std::unique_ptr<launcher::AnswerPort> answer_port_;  // until the network was checked
};

// For a dry run of one machine: the given port, or 0, a free one, where the run could not have it, which is told.
int port_of_plan(int port, reporting::Console& console);

// A front program that would lead but cannot: says why, and tells those that come within seconds, so that
// they end for this reason instead of looking for it. Returns the code of `failure`.
ExitCode abort_job(const CommandContext& context, const Inputs& inputs,
                   const launcher::Membership& membership, const Error& failure);

}  // namespace hftrain::front
