#include "hftrain/data/source_files.h"

#include <sys/stat.h>

#include <cerrno>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::data {
namespace {

Json state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw system_error(errno, "cannot open", path, ExitCode::kData);
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ino, status.st_dev};
}

}  // namespace

SourceFiles::SourceFiles(const std::vector<SplitRequest>& splits, const DataFiles& surveyed) {
  for (const SplitRequest& split : splits) add(split.files);
  add(surveyed);
}

void SourceFiles::add(const DataFiles& files) {
  for (const std::string& path : files.paths()) {
    if (!is_folder(path)) files_.push_back({path, state_of(path)});
  }
}

void SourceFiles::check() const {
  for (const File& file : files_) {
    if (state_of(file.path) == file.state) continue;
    throw Error(ExitCode::kData, "a data file has changed while it was prepared")
        .where(file.path)
        .why("it was written to meanwhile, so nobody can say which rows the samples are made of")
        .hint("start again when it is whole");
  }
}

}  // namespace hftrain::data
