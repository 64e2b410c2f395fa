// What a file says of what it was built for, so that it is read before anything of it is loaded or run.
#pragma once

// Counts what the headers of hftrain/program and hftrain/plugin declare for programs: another number, another layout.
#define HFTRAIN_PROGRAM_INTERFACE 1
// Where the text lies.
#define HFTRAIN_PLUGIN_SECTION ".hftrain_plugin"

#define HFTRAIN_PLUGIN_TEXT_OF(VALUE) #VALUE
#define HFTRAIN_PLUGIN_TEXT(VALUE) HFTRAIN_PLUGIN_TEXT_OF(VALUE)
// Of the LibTorch that the file is compiled with: hftrain::torch says it.
#ifndef HFTRAIN_PLUGIN_TORCH
#define HFTRAIN_PLUGIN_TORCH none
#endif

// The lines of it that plug-ins and programs have alike.
#define HFTRAIN_PLUGIN_COMPILED \
  "torch=" HFTRAIN_PLUGIN_TEXT(HFTRAIN_PLUGIN_TORCH) "\n"   \
  "cxx11_abi=" HFTRAIN_PLUGIN_TEXT(_GLIBCXX_USE_CXX11_ABI) "\n"
