// The program of --worker_program: what it was built for, read without starting it.
#pragma once

#include <string>

namespace hftrain::plan {

// Its absolute path. Error: kUsage where there is no such program, or none with a Trainer of hftrain/program/trainer.h; kEnvironment
// where it was built for another interface, another C++ ABI or another release of LibTorch than `torch_version` ("2.11.0"; empty: this
// program has none).
std::string open_program(const std::string& path, const std::string& torch_version);

}  // namespace hftrain::plan
