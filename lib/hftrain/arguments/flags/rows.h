// The rows of the flag table, one function per group of flags.
#pragma once

#include <vector>

#include "hftrain/arguments/flag.h"

namespace hftrain::arguments {

// More would be a slip of the finger: no machine has so many cores, and thousands of threads take its memory.
inline constexpr double kMostThreads = 4096;

// Reasons that several flags share.
inline constexpr Support kEtcd =
    refused("there is no etcd client here", "c10d or static, which need no service");
inline constexpr Support kMvapich =
    refused("MVAPICH is not supported", "pdsh, or Open MPI's mpirun around hftrain");
inline constexpr Support kLikeTorchCompile = accepted("nothing is compiled at run time");
inline constexpr Support kNoTpu = refused("there is no TPU runtime here");
inline constexpr Support kNoTpuNoTensorFlow = refused("there is no TPU and no TensorFlow here");

std::vector<Flag> output_flags();
std::vector<Flag> run_flags();
std::vector<Flag> model_flags();
std::vector<Flag> data_flags();
std::vector<Flag> batch_flags();
std::vector<Flag> optimizer_flags();
std::vector<Flag> schedule_flags();
std::vector<Flag> precision_flags();
std::vector<Flag> evaluation_flags();
std::vector<Flag> logging_flags();
std::vector<Flag> saving_flags();
std::vector<Flag> hub_flags();
std::vector<Flag> parallel_flags();
std::vector<Flag> offload_flags();
std::vector<Flag> device_flags();
std::vector<Flag> launch_flags();
std::vector<Flag> launchers_flags();  // spellings of accelerate launch and of the deepspeed launcher
std::vector<Flag> generation_flags();
std::vector<Flag> debug_flags();
std::vector<Flag> instruction_flags();  // TRL's, of supervised fine-tuning and of its other trainers
std::vector<Flag> adapter_flags();      // TRL's, of peft and of quantised weights
std::vector<Flag> interface_flags();    // hftrain's own

}  // namespace hftrain::arguments
