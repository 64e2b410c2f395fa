#!/bin/sh
# Without a scheduler. hftrain has to be installed at the same path on all machines, and the current folder has to be
# there; a host file by ssh needs keys that ask no question.

# Started once, on any machine: every machine of the file by ssh.
hftrain --config configs/cluster/run.yaml --hostfile configs/cluster/hostfile
