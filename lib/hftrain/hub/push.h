// Files into a repository of the Hub, as one commit: what is large goes to the store of LFS first, then the commit names
// everything, so that nobody ever sees a part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/hub/api.h"

namespace hftrain::hub {

struct PushedFile {
  std::string local;  // where it lies; is not to change meanwhile
  std::string path;   // in the repository, relative, with slashes
};

struct PushRequest {
  Repository repository;
  std::string revision = "main";  // a branch
  std::string message;            // first line of the commit
  std::vector<PushedFile> files;
  std::string replaced_folder =
      {};  // what else is below it there is deleted (replaced_files.h); empty: nothing is
};

// Whether the push made a commit: false when everything was there already. Called again after it was interrupted it sends what
// is missing. Errors: Api::refusal(); kData of a file that cannot be read.
bool push(Api& api, const PushRequest& request);

// The name of the token's owner. Throws Api::refusal() (kUsage when the Hub does not know the token).
std::string owner_of_token(Api& api);
// Makes the repository unless it is there, or `revision` is a branch that it would not have; `is_private` unset is what its
// owner has chosen. Then asks whether this token may
// write to `revision`. Error(kData) when not, or there is no such revision; kUsage when the Hub does not know the token. Returns false
// where it was there and everybody may read it, though a private one is asked for.
bool prepare_repository(Api& api, const Repository& repository, std::optional<bool> is_private,
                        const std::string& revision);

}  // namespace hftrain::hub
