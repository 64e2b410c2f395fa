// Which software a run would load, found from files: LibTorch is never loaded for it.
#pragma once

#include <optional>
#include <string>

#include "hftrain/base/environment.h"

namespace hftrain::machine {

struct Installation {
  bool worker_found = false;
  std::string torch_folder;         // empty: the worker would not find LibTorch
  std::string torch_version;        // "2.11.0+cu130"
  std::string torch_cuda;           // CUDA that this LibTorch was built for; empty: none
  std::optional<std::string> nccl;  // version of the library that comes with it
  bool cuda_plugin = false;         // libhftrain_cuda.so is there
  bool mpi_plugin = false;
};

// `worker` is the path of hftrain-worker. Nothing is loaded.
Installation inspect_installation(const std::string& worker, const Environment& environment);

// What the MPI library and PMIx, which are loaded for it, say of themselves; nothing without MPI.
std::optional<std::string> mpi_version();

}  // namespace hftrain::machine
