// One file of a repository, into the folder blobs/ of its place in the cache.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hftrain/hub/api.h"
#include "hftrain/hub/repository.h"

namespace hftrain::hub {

// Called while a file comes; either may be empty.
struct Progress {
  std::function<void(const RemoteFile& file, uint64_t bytes)> has;  // now and then: so many bytes are there
  std::function<void(const RemoteFile& file)> waits;  // another program fetches it, and is waited for
};

struct BlobPlace {
  std::string blobs;  // folder: the file becomes blobs/HASH, and is blobs/HASH.incomplete before
  std::string locks;  // folder: locks/HASH.lock is held meanwhile, as the Python client does
};

// Returns how many bytes came over the network. What a former call left of it is gone on from; what has another hash than the Hub said
// is removed, fetched once more, and then an Error (kData). What is there is only looked at for its size. Other errors: those of
// Api::refusal, and kDisk.
uint64_t download_blob(Api& api, const Repository& repository, const std::string& commit,
                       const RemoteFile& file, const BlobPlace& place, const Progress& progress);

}  // namespace hftrain::hub
