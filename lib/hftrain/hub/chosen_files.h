// Which files of a repository are fetched: never a pickle, and no weights that nothing here reads.
#pragma once

#include <string>
#include <vector>

#include "hftrain/hub/repository.h"

namespace hftrain::hub {

struct ChosenFiles {
  std::vector<RemoteFile> taken;
  std::vector<std::string> pickles;  // left out: to open one may run what its author wrote
  std::vector<std::string> others;   // left out: weights of other frameworks
};

// Error(kData) for a model whose only weights are pickles, or of other frameworks, and for a data set whose only rows are pickles.
ChosenFiles choose_files(const Repository& repository, std::vector<RemoteFile> files);

}  // namespace hftrain::hub
