#!/bin/sh
# Open MPI over the machines of a host file, one process per rank; CPU ranks then talk over MPI.
mpirun --hostfile configs/cluster/hostfile -n 16 --bind-to none \
  hftrain --config configs/cluster/run.yaml --use_cpu
