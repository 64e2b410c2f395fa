// The collectives of tests/comm/collectives_benchmark.cpp over MPI, with the same sizes, repeats and output.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kFewest = 7, kMost = 2000, kWarmUp = 2 };

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void run(int operation, float *whole, float *part, int count, int world) {
  switch (operation) {
    case 0:
      MPI_Allreduce(MPI_IN_PLACE, whole, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case 1:
      MPI_Reduce_scatter_block(whole, part, count / world, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    default:
      MPI_Allgather(part, count / world, MPI_FLOAT, whole, count / world, MPI_FLOAT, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  static const char *const names[] = {"all_reduce", "reduce_scatter", "all_gather"};
  MPI_Init(&argc, &argv);
  int rank, world;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  double *seconds = malloc(kMost * sizeof *seconds);
  for (long bytes = 1 << 10; bytes <= 64 << 20; bytes *= 4) {
    const int count = (int)(bytes / 4 / world * world);
    float *whole = malloc(bytes), *part = malloc(bytes / world);
    for (int i = 0; i < count; ++i) whole[i] = 1e-30f;
    for (int i = 0; i < count / world; ++i) part[i] = 1e-30f;
    long repeats = (256l << 20) / bytes;
    if (repeats < kFewest) repeats = kFewest;
    if (repeats > kMost) repeats = kMost;
    for (int operation = 0; operation < 3; ++operation) {
      for (long i = -kWarmUp; i < repeats; ++i) {
        const double start = MPI_Wtime();
        run(operation, whole, part, count, world);
        if (i >= 0) seconds[i] = MPI_Wtime() - start;
      }
      qsort(seconds, (size_t)repeats, sizeof *seconds, compare);
      if (rank == 0) printf("%s %ld %.2f %.2f\n", names[operation], bytes, 1e6 * seconds[0], 1e6 * seconds[repeats / 2]);
    }
    free(whole);
    free(part);
  }
  free(seconds);
  MPI_Finalize();
  return 0;
}
