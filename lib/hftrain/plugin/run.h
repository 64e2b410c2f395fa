// What a plug-in is told of the run that it is loaded for.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hftrain::plugin {

struct Run {
  std::string output_dir;    // absolute
  std::string name;          // --run_name; empty: none was given
  std::string arguments;     // all arguments of the run, a JSON object, without secrets
  std::string model_config;  // config.json of the model
  int64_t parameters = 0;    // numbers of the model, tied tensors once
  int rank = 0;              // of this process, of `world_size`
  int local_rank = 0;        // on its machine
  int world_size = 1;
};

// Names and numbers of a logged record or an evaluation, rising by name.
using Metrics = std::vector<std::pair<std::string, double>>;

}  // namespace hftrain::plugin
