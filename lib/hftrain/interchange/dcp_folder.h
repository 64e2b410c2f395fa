// A folder of torch.distributed.checkpoint, as FSDP leaves one with SHARDED_STATE_DICT: `.metadata` and the files of the ranks,
// __<rank>_<n>.distcp, in which every piece of a tensor is a file of torch.save.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hftrain/base/file.h"
#include "hftrain/interchange/dcp_metadata.h"
#include "hftrain/interchange/torch_file.h"
#include "hftrain/storage/sharded_state.h"

namespace hftrain::interchange {

// The folder has a `.metadata`.
bool is_dcp_folder(const std::string& folder);

// Mapped read-only. Every piece is looked up, and its type and shape compared with what the metadata says of it: what is missing,
// cut short or another is Error(kData) naming the file. A scalar has the shape [1]. Several threads may read it.
class DcpFolder {
 public:
  explicit DcpFolder(const std::string& folder, Checksums checksums = Checksums::kLeft);
  DcpFolder(const DcpFolder&) = delete;
  DcpFolder& operator=(const DcpFolder&) = delete;

  const std::string& path() const noexcept { return folder_; }
  const std::map<std::string, storage::SlicedTensor, std::less<>>& tensors() const noexcept {
    return tensors_;
  }
  // Names of the files that hold a tensor.
  const std::map<std::string, std::set<std::string>, std::less<>>& files() const noexcept {
    return files_of_;
  }

 private:
  void add(const DcpTensor& tensor, Checksums checksums);
  std::string_view bytes_of(const DcpChunk& chunk, const std::string& origin);
  void take(const DcpChunk& chunk, const std::string& origin);

  std::string folder_;
  std::map<std::string, MappedFile> mapped_;
  std::map<std::string, std::map<uint64_t, uint64_t>> taken_;  // of each file: where pieces begin and end
  std::deque<storage::StoredTensor> stored_;
  std::map<std::string, storage::SlicedTensor, std::less<>> tensors_;
  std::map<std::string, std::set<std::string>, std::less<>> files_of_;
};

}  // namespace hftrain::interchange
