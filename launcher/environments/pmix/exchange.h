// libhftrain_pmix.so: how the front programs of a job that mpirun started find each other. It links PMIx and
// nothing else, so that the front program neither links it nor waits for LibTorch.
//
// PMIx can be started once in a process, and a process that inherits it from its parent starts it anew. So
// the front program calls this in a child of its own that lives for nothing else, with PMIX_MCA_gds=hash in
// the environments of that child and of the ranks (without it the second PMIx client of a rank, which a worker is
// that uses MPI, finds its data taken).
//
// The child stays until no rank uses MPI any more. Open MPI 4.1 answers a client that ends before it notes
// that the end was orderly; a client that is gone by then counts as lost, every later fence expects one
// process too few, and MPI_Init of one rank never returns.
#pragma once

#include <stddef.h>

extern "C" {

// The names of the functions below, for dlsym.
#define HFTRAIN_MPI_EXCHANGE_ADDRESS "hftrain_mpi_exchange_address"
#define HFTRAIN_MPI_END_EXCHANGE "hftrain_mpi_end_exchange"

// Called once by every rank that mpirun started, each in a fresh process; returns when all have called it.
// Rank 0 passes its address as `own`, the others an empty text. `out`, of `size` bytes, becomes rank 0's
// address. Returns 0, or a status of PMIx with `out` saying which step failed and why.
int hftrain_mpi_exchange_address(const char* own, char* out, size_t size);

// The end of this PMIx client; afterwards the process ends. Waits for mpirun, two seconds at most.
void hftrain_mpi_end_exchange();

using hftrain_mpi_exchange_address_function = int (*)(const char*, char*, size_t);
using hftrain_mpi_end_exchange_function = void (*)();
}
