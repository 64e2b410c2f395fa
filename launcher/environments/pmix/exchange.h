// libhftrain_pmix.so: how the front programs of a job that mpirun started find each other. It links PMIx and
// nothing else, so that the front program neither links it nor waits for LibTorch.
//
// PMIx can be started once in a process, and a process that inherits it from its parent starts it anew. So
// the front program calls this in a child of its own that lives for nothing else, with PMIX_MCA_gds=hash in
// the environment of the front program itself (without it the second PMIx client of a rank, which a worker is
// that uses MPI, finds its data taken); tests/comm/mpi_places.cpp shows how.
#pragma once

#include <stddef.h>

extern "C" {

// The name of the function below, for dlsym.
#define HFTRAIN_MPI_EXCHANGE_ADDRESS "hftrain_mpi_exchange_address"

// Called once by every rank that mpirun started, each in a fresh process; returns when all have called it.
// Rank 0 passes its address as `own`, the others an empty text. `out`, of `size` bytes, becomes rank 0's
// address. Returns 0, or a status of PMIx with `out` saying which step failed and why.
int hftrain_mpi_exchange_address(const char* own, char* out, size_t size);

using hftrain_mpi_exchange_address_function = int (*)(const char*, char*, size_t);
}
