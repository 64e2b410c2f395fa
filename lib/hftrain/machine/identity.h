// Which machine this is.
#pragma once

#include <string>

namespace hftrain::machine {

std::string host_name();
// Equal for two processes when they are on one machine (one start of one kernel), in one network, under one host name and among
// the same processes, so that the loopback address of one is that of the other, and each finds what the other has open.
std::string machine_identity();

}  // namespace hftrain::machine
