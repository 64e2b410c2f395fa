// Which machine this is.
#pragma once

#include <string>

namespace hftrain::machine {

std::string host_name();
// Equal for two processes when they are on one machine (one start of one kernel), in one network and under one host name, so that
// the loopback address of one is that of the other.
std::string machine_identity();
// Equal for two processes of one machine that see each other in /proc, so that each finds what the other has open: not of two
// containers, whatever else they share.
std::string process_namespace();

}  // namespace hftrain::machine
