// Where a run is pushed to: the repository, and a token that may write there, both found before the training begins.
#pragma once

#include <optional>
#include <string>

#include "hftrain/hub/access.h"
#include "hftrain/hub/api.h"
#include "launcher/front/inputs.h"

namespace hftrain::front {

struct HubTarget {
  hub::Access access;
  std::string
      token_flag;  // or variable of `env:` that gave the access its token; empty: it is where `hf` finds it, too
  std::string asked;     // NAME or ORG/NAME
  std::string revision;  // a branch
  std::optional<bool> is_private;
  std::string repository;  // ORG/NAME, made and open to this token; empty: the Hub has not been reached yet
  std::string trouble;     // why it has not; empty: it has
  std::string remark;      // of the repository, for a warning; empty: there is nothing to say
};

// Nothing without --push_to_hub. Error(kUsage) for a name that is none, and without a token, but where the Hub is not to be asked
// (HF_HUB_OFFLINE). Asks no server. Where another machine pushes, not this one, it has no access.
std::optional<HubTarget> hub_target(const Inputs& inputs, bool pushes_here);
// Finds the repository's whole name, makes it and sees that it may be written to. Throws the Hub's refusals (hub/push.h).
void reach_repository(hub::Api& api, HubTarget& target);
// The same before the training, where the Hub may be out of reach: `trouble` says so then. Of a Hub that says nothing it is known
// after two requests, of HF_HUB_DOWNLOAD_TIMEOUT seconds (10) each.
void try_repository(HubTarget& target);

}  // namespace hftrain::front
