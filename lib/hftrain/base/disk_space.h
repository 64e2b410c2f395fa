// What is free where something will be written, and whether two places share it.
#pragma once

#include <cstdint>
#include <string>

#include "hftrain/base/error.h"

namespace hftrain {

struct DiskSpace {
  uint64_t file_system = 0;  // the same for all places of one: their free bytes are the same bytes
  uint64_t free_bytes = 0;   // that an ordinary user may still write
  int folder_error = 0;      // of folder_error()
};

// errno for why no folder can be made at `path`, or nothing written into the one that is there; 0: it can.
int folder_error(const std::string& path);

// Of `path` and what is above it, a link that leads to what is not there; empty: there is none.
std::string link_to_nowhere(const std::string& path);
// For the errno of a folder that could not be made (kDisk, or as system_error()): names such a link.
Error cannot_create_folder(const std::string& path, int error_number);

// Of the file system holding `path` or, before it is made, its nearest parent. Error (kEnvironment) where that cannot be asked.
DiskSpace disk_space(const std::string& path);

}  // namespace hftrain
