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

// Runs what must succeed: an Error here is a finding, since what the program writes itself it can read.
template <typename Read>
auto must(Read read) {
  try {
    return read();
  } catch (const Error&) {
    __builtin_trap();
  }
}

// A mutation that leaves JSON what it is: one of its values becomes another, goes or comes twice. For inputs
// that begin with JSON, up to a zero byte or the end; most of libFuzzer's own mutations leave none, and a
// parser hides what is behind it. Every third is libFuzzer's, and so is what is done to an input that is no
// JSON.
size_t mutate_json(uint8_t* data, size_t size, size_t max_size, unsigned seed);

// The input cut at its zero bytes into exactly `count` parts; missing ones are empty, the last has the rest.
std::vector<std::string_view> parts_of(const uint8_t* data, size_t size, size_t count);

// The path of a file that holds `content`. Its folder is the process's own, in memory where the system has
// such a place, and a call with the same name replaces the file.
std::string file_with(const std::string& name, std::string_view content);
// That folder.
const std::string& folder();

}  // namespace hftrain::fuzz
