// A revision of a repository into the cache of the Hub, laid out as the Python client's, so that either finds what the other fetched:
// blobs/HASH, snapshots/COMMIT/PATH (links to blobs), refs/REVISION (the commit).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/hub/blob_download.h"
#include "hftrain/hub/chosen_files.h"

namespace hftrain::hub {

struct FetchRequest {
  Repository repository;
  std::string revision = "main";
  std::string cache;   // folder of the Hub's cache: tells backup programs to pass by, and holds .locks/
  std::string folder;  // <cache>/models--org--name
};

struct FetchResult {
  std::string commit, snapshot;  // the folder that was filled
  size_t files = 0;
  uint64_t bytes = 0;                        // of all files
  uint64_t received = 0;                     // that came over the network
  std::vector<std::string> pickles, others;  // left out
};

// All or nothing as readers see it: the snapshot gets its name, and the reference its commit, when every file is there and has the hash
// that the Hub said. What was interrupted is gone on from. Errors: those of download_blob and of the Hub's answers; kUsage
// for what cannot be the name of a revision; kData when nothing in it is to be fetched; kDisk before the first byte when they would
// not fit.
FetchResult fetch(Api& api, const FetchRequest& request, const Progress& progress);

}  // namespace hftrain::hub
