// What the fuzz targets share. A reader of what others wrote may answer with a value or with an Error that
// can be shown; everything else (a crash, another exception, more than the memory and time that libFuzzer
// allows) is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/error.h"

namespace hftrain::fuzz {

// Runs one reader on one input.
template <typename Read>
int read_or_refuse(Read read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.render().empty()) __builtin_trap();
  }
  return 0;
}

// The input cut at its zero bytes into exactly `count` parts; missing ones are empty, the last has the rest.
std::vector<std::string_view> parts_of(const uint8_t* data, size_t size, size_t count);

// The path of a file that holds `content`. Its folder is the process's own, in memory where the system has
// such a place, and a call with the same name replaces the file.
std::string file_with(const std::string& name, std::string_view content);
// That folder.
const std::string& folder();

}  // namespace hftrain::fuzz
