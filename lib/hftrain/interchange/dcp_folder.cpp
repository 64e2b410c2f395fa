#include "hftrain/interchange/dcp_folder.h"

#include <iterator>
#include <optional>
#include <utility>

#include "hftrain/base/checked_arithmetic.h"
#include "hftrain/base/error.h"
#include "hftrain/base/printable.h"
#include "hftrain/interchange/torch_file.h"

namespace hftrain::interchange {
namespace {

Error bad_piece(const std::string& origin, const std::string& why) {
  return Error(ExitCode::kData, "a piece of the sharded checkpoint is not what its metadata say")
      .where(origin)
      .why(why)
      .hint("copy the checkpoint again, with the files of all ranks, or use another one");
}

const PickledTensor& tensor_of(const TorchFile& file, const DcpTensor& tensor, const DcpChunk& chunk,
                               const std::string& origin) {
  const std::string quoted = "'" + printable(tensor.name) + "'";
  if (file.root().kind() != TorchValue::Kind::kTensor)
    throw bad_piece(origin, quoted + " is no tensor there");
  const PickledTensor& found = file.root().tensor("a piece");
  if (found.dtype != tensor.dtype || found.shape != chunk.box.sizes)
    throw bad_piece(origin, quoted + " has another type or shape there");
  if (!found.dense) throw bad_piece(origin, quoted + " is not stored row by row");
  return found;
}

std::vector<int64_t> at_least_one_dim(const std::vector<int64_t>& sizes, int64_t otherwise) {
  return sizes.empty() ? std::vector<int64_t>{otherwise} : sizes;
}

}  // namespace

bool is_dcp_folder(const std::string& folder) {
  return path_exists(folder + '/' + kDcpMetadata);
}

DcpFolder::DcpFolder(const std::string& folder, Checksums checksums) : folder_(folder) {
  const MappedFile metadata(folder + '/' + kDcpMetadata);
  for (const DcpTensor& tensor : read_dcp_metadata(metadata.bytes(), metadata.path())) add(tensor, checksums);
}

void DcpFolder::add(const DcpTensor& tensor, Checksums checksums) {
  storage::SlicedTensor whole{tensor.name, tensor.dtype, at_least_one_dim(tensor.shape, 1), {}};
  std::set<std::string>& files = files_of_[tensor.name];
  for (const DcpChunk& chunk : tensor.chunks) {
    const std::string origin =
        folder_ + '/' + printable(chunk.file) + " at byte " + std::to_string(chunk.offset);
    const TorchFile file(origin, bytes_of(chunk, origin));
    if (checksums == Checksums::kCompared) file.check();
    const PickledTensor& found = tensor_of(file, tensor, chunk, origin);
    storage::Box box{at_least_one_dim(chunk.box.offsets, 0), at_least_one_dim(chunk.box.sizes, 1)};
    const storage::StoredTensor& stored =
        stored_.emplace_back(storage::StoredTensor{{tensor.name, tensor.dtype, box.sizes}, found.bytes});
    whole.slices.push_back({std::move(box), &stored});
    files.insert(chunk.file);
  }
  tensors_.emplace(tensor.name, std::move(whole));
}

std::string_view DcpFolder::bytes_of(const DcpChunk& chunk, const std::string& origin) {
  auto file = mapped_.find(chunk.file);
  if (file == mapped_.end()) {
    const std::string path = folder_ + '/' + chunk.file;
    if (!path_exists(path)) throw bad_piece(path, "the file is missing");
    file = mapped_.emplace(chunk.file, MappedFile(path)).first;
  }
  const std::string_view bytes = file->second.bytes();
  const std::optional<uint64_t> end = checked_sum(chunk.offset, chunk.length);
  if (!end || *end > bytes.size())
    throw bad_piece(origin, "it reaches to byte " + (end ? std::to_string(*end) : "2^64") +
                                ", and the file has " + std::to_string(bytes.size()));
  take(chunk, origin);
  return bytes.substr(chunk.offset, chunk.length);
}

// So what is read for all pieces is no more than the files have.
void DcpFolder::take(const DcpChunk& chunk, const std::string& origin) {
  std::map<uint64_t, uint64_t>& taken = taken_[chunk.file];
  const auto behind = taken.lower_bound(chunk.offset);
  const bool cuts = (behind != taken.end() && behind->first < chunk.offset + chunk.length) ||
                    (behind != taken.begin() && std::prev(behind)->second > chunk.offset);
  if (cuts) throw bad_piece(origin, "another piece lies there, too");
  taken.emplace_hint(behind, chunk.offset, chunk.offset + chunk.length);
}

}  // namespace hftrain::interchange
