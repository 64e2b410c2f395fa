// The files that samples are made of, which must be the same from the hash that names the entry to the last row that is read.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/data/split_request.h"

namespace hftrain::data {

class SourceFiles {
 public:
  // Looks at the files of these splits and of the survey. Of folders of images nobody keeps the contents: they do not count.
  SourceFiles(const std::vector<SplitRequest>& splits, const DataFiles& surveyed);

  // A file that is another one than it was when this was made, by size, time or inode: Error (exit code 4).
  void check() const;

 private:
  struct File {
    std::string path;
    Json state;
  };
  void add(const DataFiles& files);
  std::vector<File> files_;
};

}  // namespace hftrain::data
