#include "launcher/front/meeting_stage.h"

#include <unistd.h>

#include <filesystem>

#include "hftrain/arguments/print_config.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/machine/cpu_map.h"
#include "launcher/control/job_secret.h"
#include "launcher/control/leader_place.h"
#include "launcher/control/own_machine.h"
#include "launcher/control/preflight.h"
#include "launcher/environments/rank_starter.h"
#include "launcher/front/launch_stage.h"

namespace hftrain::front {
namespace {

namespace fs = std::filesystem;

plan::AgentFacts facts_of(const CommandContext& context, const Inputs& inputs,
                          const launcher::Membership& membership) {
  const fs::path plugin = fs::path(context.program).parent_path().parent_path() / "lib" / "libhftrain_mpi.so";
  plan::AgentFacts facts =
      launcher::own_facts(membership, inputs.topology, inputs.parsed.arguments.launch.nproc_per_node,
                          path_exists(plugin.string()));
  std::error_code none;
  if (inputs.parsed.arguments.saving.save_on_each_node)
    facts.output_folder = fs::weakly_canonical(inputs.output_dir, none).string();
  return facts;
}

std::string secret_of(const Inputs& inputs) {
  Environment secrets;
  if (inputs.secret_variable) secrets.set(launcher::kSecretVariable, *inputs.secret_variable);
  return launcher::job_secret(inputs.parsed.arguments.launch, secrets);
}

}  // namespace

std::string build_of(const std::string& program, const std::string& worker, bool own) {
  const fs::path library = fs::path(program).parent_path().parent_path() / "lib" / "libhftrain.so";
  std::string hashes = hash_file(program);
  if (path_exists(worker)) hashes += hash_file(worker);
  if (own && path_exists(library.string())) hashes += hash_file(library.string());
  return hash_bytes(hashes).substr(0, 12);
}

launcher::MeetingSpec meeting_spec(const CommandContext& context, const Inputs& inputs,
                                   const launcher::Membership& membership,
                                   launcher::AddressExchange* exchange) {
  launcher::MeetingSpec spec;
  spec.membership = membership;
  spec.exchange = exchange;
  spec.version = HFTRAIN_VERSION;
  spec.build = build_of(context.program, worker_program(context.program, inputs.parsed),
                        inputs.parsed.arguments.launch.worker_program.has_value());
  spec.secret = secret_of(inputs);
  spec.introduction.arguments = launcher::comparable_arguments(arguments::arguments_json(inputs.parsed));
  spec.introduction.facts = facts_of(context, inputs, membership);
  spec.introduction.model = inputs.model_seen;
  spec.introduction.adapter = inputs.adapter_seen;
  spec.collective_timeout_seconds = static_cast<double>(inputs.parsed.arguments.parallel.ddp_timeout);
  return spec;
}

void check_secret(const Inputs& inputs, const launcher::Membership& membership) {
  if (membership.agents > 1) secret_of(inputs);
}

void check_local_address(const launcher::Membership& membership) {
  if (membership.agents == 1 || membership.local_address.empty()) return;
  launcher::listen_at({membership.local_address}, 0, "--local_addr " + membership.local_address);
}

void check_meeting_port(const Inputs& inputs, const launcher::Membership& membership) {
  const bool fixed = membership.agents > 1 && membership.meeting == launcher::Meeting::kFixedAddress;
  // Names are looked up only where it matters: one that is not known here may take its time.
  if (!fixed || !membership.leads() || !launcher::is_listened_at(membership.master_port)) return;
  const bool has_secret = !secret_of(inputs).empty();
  const std::vector<std::string> addresses = launcher::meeting_addresses(membership, has_secret);
  if (has_secret || !addresses.empty())
    launcher::listen_at(addresses, membership.master_port, "--master_port");
}

std::vector<plan::AgentFacts> assumed_agents(const CommandContext& context, const Inputs& inputs,
                                             const launcher::Membership& membership) {
  if (membership.agents == 1) return {};
  return plan::like_this_one(
      facts_of(context, inputs, membership), membership.agents,
      machine::allowed_cpus(launcher::starter_of_rank(membership.variables, ::getppid())));
}

}  // namespace hftrain::front
