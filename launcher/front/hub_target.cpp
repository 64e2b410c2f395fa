#include "launcher/front/hub_target.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/text.h"
#include "hftrain/hub/push.h"
#include "hftrain/hub/repository.h"
#include "hftrain/plan/hub_cache.h"

namespace hftrain::front {
namespace {

constexpr int kFirstAttempts = 2;
constexpr double kFirstWait = 10;  // seconds that the Hub may ask for before the training begins

std::string asked_name(const arguments::HubArguments& hub, const std::string& output_dir) {
  std::string name = hub.hub_model_id.value_or(std::filesystem::path(output_dir).filename().string());
  if (hub.push_to_hub_organization && name.find('/') == std::string::npos)
    name = *hub.push_to_hub_organization + '/' + name;
  const std::string owner = hub.push_to_hub_organization ? *hub.push_to_hub_organization + '/' : "";
  if (!name.starts_with(owner))
    throw Error(ExitCode::kUsage, "the repository to push to has two owners")
        .where("--push_to_hub_organization, --hub_model_id")
        .why(*hub.push_to_hub_organization + " against " + name)
        .hint("--hub_model_id " + name + " alone");
  if (plan::is_hub_name(name)) return name;
  throw Error(ExitCode::kUsage, "'" + name + "' is no name of a repository")
      .where(hub.hub_model_id ? "--hub_model_id" : "--output_dir")
      .why("a name is NAME or ORG/NAME, of letters, digits, -, _ and .")
      .hint("--hub_model_id NAME");
}

// Printed configurations hold a placeholder where a token was: the token itself is somewhere else.
struct GivenToken {
  std::optional<std::string> token;
  std::string flag;
};

GivenToken given_token(const arguments::HubArguments& hub) {
  if (hub.hub_token && hub.hub_token != placeholder("hub_token")) return {hub.hub_token, "--hub_token"};
  if (!hub.token || hub.token == placeholder("token")) return {};
  return {hub.token, "--token"};
}

// A variable that the configuration exports is this process's alone: `hf` does not see it.
std::string exported_token(const Inputs& inputs) {
  // The first of them counts.
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HOME"}) {
    if (trim(inputs.environment.get_or(name, "")).empty()) continue;
    return inputs.parsed.exported_environment.contains(name) ? std::string("env: ") + name : "";
  }
  return "";
}

std::string branch_of(const arguments::HubArguments& hub) {
  std::string branch = hub.hub_revision.value_or("main");
  if (hub::is_safe_path(branch) && !hub::is_commit(branch)) return branch;
  throw Error(ExitCode::kUsage, "nothing can be pushed to '" + branch + "'")
      .where("--hub_revision")
      .why("the Hub takes pushes to branches alone")
      .hint("the name of a branch, or leave it out for main");
}

}  // namespace

std::optional<HubTarget> hub_target(const Inputs& inputs, bool pushes_here) {
  const arguments::HubArguments& hub = inputs.parsed.arguments.hub;
  if (!hub.push_to_hub) return std::nullopt;
  HubTarget target;
  target.asked = asked_name(hub, inputs.output_dir);
  target.revision = branch_of(hub);
  target.is_private = hub.hub_private_repo;
  if (!pushes_here) return target;
  const GivenToken given = given_token(hub);
  target.access = hub::read_access(inputs.environment, given.token, hub.use_auth_token);
  target.token_flag = given.token ? given.flag : exported_token(inputs);
  if (!target.access.token.empty() || target.access.offline) return target;
  throw Error(ExitCode::kUsage, "there is no access token to push with")
      .where("--push_to_hub")
      .why("HF_TOKEN is not set, and " + hub::token_file(inputs.environment) + " is not there, or not used")
      .hint("`hf auth login`, or HF_TOKEN; --push_to_hub false trains without it");
}

void reach_repository(hub::Api& api, HubTarget& target) {
  std::string name = target.asked;
  if (name.find('/') == std::string::npos) name = hub::owner_of_token(api) + '/' + name;
  const bool as_asked = hub::prepare_repository(api, {name}, target.is_private, target.revision);
  target.remark = as_asked ? ""
                           : name + " is there and public: what is pushed can be read by all, for " +
                                 "--hub_private_repo is about a repository that is made";
  target.repository = name;
  target.trouble.clear();
}

void try_repository(HubTarget& target) {
  if (target.access.offline) {
    target.trouble = "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE says that there is no network";
    return;
  }
  hub::Access hasty = target.access;
  hasty.call_seconds = std::min(hasty.call_seconds, hasty.stall_seconds);
  hasty.attempts = kFirstAttempts;
  hasty.longest_wait = kFirstWait;
  hub::Api api(hasty);
  try {
    reach_repository(api, target);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kEnvironment) throw;
    const Diagnostic& first = error.diagnostics().front();
    target.trouble = first.what + ": " + first.why;
  }
}

}  // namespace hftrain::front
