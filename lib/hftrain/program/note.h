// What a program says of what it was built for: read before it is started as a rank (plan/program_file.h).
#pragma once

#include "hftrain/plugin/note.h"

// In each source of a program that includes this, the same text; libhftrain.so itself is none.
#ifndef HFTRAIN_IS_NO_PROGRAM
namespace {
__attribute__((used, section(HFTRAIN_PLUGIN_SECTION))) const char hftrain_program_note[] =
    "program_interface=" HFTRAIN_PLUGIN_TEXT(HFTRAIN_PROGRAM_INTERFACE) "\n" HFTRAIN_PLUGIN_COMPILED;
}  // namespace
#endif
