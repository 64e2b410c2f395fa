// A thread that nobody joins: for work that may wait for ever in a call to the system (a folder or a terminal
// that does not answer), which the end of the program must not wait for.
#pragma once

#include <functional>
#include <string>

namespace hftrain::launcher {

// `run` owns all that it uses. Signals of the process go to its other threads. Throws an Error (kEnvironment)
// when the system starts no thread; `purpose` is for people: "writes logs".
void start_detached_thread(std::function<void()> run, const std::string& purpose);

}  // namespace hftrain::launcher
