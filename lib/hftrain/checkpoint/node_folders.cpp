#include "hftrain/checkpoint/node_folders.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/checkpoint/collective_status.h"

namespace hftrain::checkpoint {
namespace {

constexpr uint64_t kPiece = uint64_t{16} << 20;  // bytes of one message

// One file on its way. Whatever fails here, the rank goes on to take its part in the messages.
class Copy {
 public:
  Copy(const std::string& path, uint64_t size, bool reads, bool writes, storage::FileSystem& files,
       std::optional<Error>& failure)
      : path_(path), failure_(failure) {
    if (reads) {
      in_.open(path, std::ios::binary);
    } else if (writes && !failure) {
      failure = attempt([&] {
        out_ = files.create(path);
        out_->reserve(size);
      });
    }
  }

  void read(char* bytes, int64_t count) {
    if (failure_ || in_.read(bytes, count)) return;
    failure_ = Error(ExitCode::kDisk, "a file of the checkpoint cannot be read back")
                   .where(path_)
                   .why("the system could not read what was written")
                   .hint("look at that disk: the system log (dmesg) says more");
  }
  void write(const char* bytes, int64_t count) {
    if (failure_ || !out_) return;
    failure_ = attempt([&] { out_->write({bytes, static_cast<size_t>(count)}); });
  }
  void finish() {
    if (!failure_ && out_) failure_ = attempt([&] { out_->sync(); });
  }

 private:
  std::string path_;
  std::optional<Error>& failure_;
  std::ifstream in_;
  std::unique_ptr<storage::WritableFile> out_;
};

std::string records_text(const std::vector<storage::FileRecord>& records) {
  Json list = Json::array();
  for (const auto& record : records) list.push_back({record.path, record.size, record.hash});
  return list.dump();
}

std::vector<storage::FileRecord> records_of(const std::string& text) {
  std::vector<storage::FileRecord> records;
  for (const Json& item : Json::parse(text))
    records.push_back({item[0].get<std::string>(), item[1].get<uint64_t>(), item[2].get<std::string>()});
  return records;
}

}  // namespace

NodeFolders::NodeFolders(const plan::RunPlan& plan) : further_(!plan.saving.further_nodes.empty()) {
  if (!further_) return;
  std::map<int, int> of_node;
  for (const int node : plan.saving.further_nodes) of_node[node] = -1;
  for (const plan::RankPlan& rank : plan.ranks.ranks) {
    const auto own = of_node.find(rank.node);
    if (own != of_node.end() && own->second < 0) own->second = rank.rank;  // its first
    committers_.push_back(own == of_node.end() ? 0 : own->second);
  }
}

std::vector<std::vector<storage::FileRecord>> join_records(comm::Communicator& communicator,
                                                           const std::vector<storage::FileRecord>& own) {
  std::vector<std::vector<storage::FileRecord>> records;
  for (const std::string& text : communicator.all_gather_text(records_text(own)))
    records.push_back(records_of(text));
  return records;
}

void spread_files(comm::Communicator& communicator, const NodeFolders& nodes,
                  const std::vector<std::vector<storage::FileRecord>>& records, const std::string& folder,
                  storage::FileSystem& files) {
  const int own = communicator.rank();
  std::optional<Error> failure;
  std::set<std::string> folders{folder};
  for (size_t source = 0; source < records.size(); ++source) {
    const int root = static_cast<int>(source);
    const bool takes = nodes.commits(own) && nodes.committer(root) != own;
    for (const storage::FileRecord& record : records[source]) {
      const std::string path = folder + '/' + record.path;
      const std::string parent = std::filesystem::path(path).parent_path().string();
      if (takes && folders.insert(parent).second && !failure)
        failure = attempt([&] { files.make_directory(parent); });
      Copy copy(path, record.size, own == root, takes, files, failure);
      for (uint64_t done = 0; done < record.size; done += kPiece) {
        const auto count = static_cast<int64_t>(std::min(kPiece, record.size - done));
        const at::Tensor host = at::empty({count}, at::TensorOptions().dtype(at::kByte));
        if (own == root) copy.read(static_cast<char*>(host.mutable_data_ptr()), count);
        communicator.host().broadcast(host, root);
        copy.write(static_cast<const char*>(host.const_data_ptr()), count);
      }
      copy.finish();
    }
  }
  for (const std::string& each : folders) {
    if (nodes.commits(own) && !failure) failure = attempt([&] { files.sync_directory(each); });
  }
  if (failure) throw *failure;
}

}  // namespace hftrain::checkpoint
