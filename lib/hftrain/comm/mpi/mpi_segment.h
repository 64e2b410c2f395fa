// The file of shared memory that Open MPI makes for a rank (its vader transport). It removes the file in
// MPI_Finalize, which a rank that is killed never reaches, and mpirun cleans up after such a rank only when
// it is not stopped itself. So the name goes as soon as nobody needs it any more: the memory lives as long
// as the ranks that have mapped it.
//
// All calls on the thread that started MPI.
#pragma once

#include <string>

namespace hftrain::comm {

class MpiSegment {
 public:
  // Right after MPI_Init_thread, on all ranks. Removes this rank's name when all ranks of its machine have
  // mapped each other's memory; else leaves it to MPI and mpirun.
  void remove_name();
  // Right before MPI_Finalize, which complains of a name that is gone.
  void put_name_back() const;
  // When MPI_Finalize did not return. Any thread.
  void forget_name() const;

 private:
  std::string name_;  // empty: it was not removed
};

}  // namespace hftrain::comm
