// Variables of the environment that the libraries read through which ranks talk. They go to every rank, and
// to every machine of a host file.
#pragma once

#include <algorithm>
#include <array>
#include <string>

namespace hftrain::plan {

inline constexpr std::array kCommunicationPrefixes = {"NCCL_", "TORCH_NCCL_", "GLOO_", "UCX_"};

inline bool is_communication_variable(const std::string& name) {
  return std::any_of(kCommunicationPrefixes.begin(), kCommunicationPrefixes.end(),
                     [&name](const char* prefix) { return name.starts_with(prefix); });
}

}  // namespace hftrain::plan
