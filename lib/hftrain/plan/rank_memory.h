// Bytes of the training state of one rank, from shapes, stage and mesh: what the strategies of parallel/
// really hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hftrain/architectures/architecture.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

// Units whose whole gradients are on their way between ranks at a time, while the backward pass makes those of
// another one.
inline constexpr size_t kReductionsAtOnce = 2;

struct RankMemory {
  int64_t parameters = 0;  // that stay: shards of master weights, and whole parameters in stages 0 to 2
  int64_t gradients = 0;   // at the end of a backward pass
  int64_t gradients_on_host = 0;  // of them, while the rank computes on a GPU
  int64_t optimizer = 0;
  int64_t update = 0;    // that comes and goes with an update; of a GPU
  int64_t gathered = 0;  // buffers that come and go: units that are gathered at once, gradients on their way
  int64_t on_host = 0;   // share of the first three in host memory while the rank computes on a GPU
  int64_t parameters_on_nvme = 0;  // bytes of files
  int64_t optimizer_on_nvme = 0;
  int64_t nvme_staging = 0;  // host memory through which they pass
  int64_t saving = 0;  // more memory of rank 0 for saving: the tensor on its way, or a copy of its files
};

// Of the rank with the largest part. Reads plan.strategy, ranks, model, precision, batch, optimizer and
// saving.
//
// A parameter of R rows is cut among W ranks of a shard group into parts of ceil(R / W) rows. With P the
// numbers of all parameters, S of this rank's parts, m bytes of the weights' type and c of the forward pass:
//
//   stage    parameters            gradients                          optimizer (AdamW)
//   0        mP                    mP                                 2mP
//   1        cP (+ mS if c != m)   mS; with accumulation 4P (*)       2mS
//   2        cP (+ mS if c != m)   mS                                 2mS
//   3        mS                    mS                                 2mS
//
// (*) mS with sync_each_batch, which reduces the gradients of every micro-batch.
//
// Offloaded from a GPU, with accumulation: twice mS, for those of a micro-batch arrive on the host beside those of the
// ones before; in stage 1, where whole ones stay on the GPU, 4P there and mS on the host.
RankMemory rank_memory(const architectures::ParameterTable& table, const RunPlan& plan);

// Host memory that the ranks of one node keep for saves in the background, rank 0 among them: the tensor on
// its way and copies of the files that each writes. Reads plan.memory_per_rank too.
struct BackgroundCopies {
  int64_t first = 0;    // of rank 0
  int64_t other = 0;    // of any other rank
  int64_t machine = 0;  // of all its ranks
};
BackgroundCopies background_copies(const RunPlan& plan);

// Of host memory, what a rank takes before it holds a tensor: 90 to 104 MiB of its own were measured with
// LibTorch 2.11 on x86-64, nearly all of it LibTorch's relocated data and what it allocates at its start.
inline constexpr int64_t kProgramBytes = int64_t{90} << 20;
// Once it has made an update, beside its tensors: 137 to 140 MiB were measured with models of 2 to 440 MB. Expected of
// a run; what certainly must be there is the number above.
inline constexpr int64_t kWorkingProgramBytes = int64_t{138} << 20;

// Of a GPU's memory the same, beside the tensors that the plan counts: CUDA's context with the kernels that are loaded (500 to 600 MiB
// with LibTorch) and cuBLAS's two workspaces of 32 MiB; and for each group of several ranks NCCL's buffers, of which there are more the
// more links there are. Estimates: no GPU has shown them.
inline constexpr int64_t kDeviceProgramBytes = int64_t{640} << 20;
inline constexpr int64_t kDeviceGroupBytes = int64_t{256} << 20;
int64_t device_program_bytes(const RunPlan& plan);

// Of training, without the copies above. Reads plan.memory_per_rank too.
struct ExpectedMemory {
  int64_t rank = 0;     // of its GPU, or of the host with all that a rank is there
  int64_t machine = 0;  // of the host, for all ranks there
};
ExpectedMemory expected_memory(const RunPlan& plan);

// Of the whole model, as a checkpoint holds it; of an adapter with the second copies that peft looks for.
int64_t weights_bytes(const architectures::ParameterTable& table, const RunPlan& plan);
int64_t whole_optimizer_bytes(const architectures::ParameterTable& table, const RunPlan& plan);

}  // namespace hftrain::plan
