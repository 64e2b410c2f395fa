# What the first hour with a GPU would have met: a driver that refuses memory which grows, new tensors that are filled, and what the
# day of the GPU did not look at.
MEMORY = "lib/hftrain/runtime/first_memory.cpp"
NUMERICS = "lib/hftrain/runtime/numerics.cpp"
BLOCKS = "runtime: a device that refuses memory that grows in place gives it in blocks, with a warning"
EITHER = "runtime: a device that has no memory, or fails either way, is told as it is"
DETERMINISM = "runtime: full determinism and TF32 set the switches of the contract"
WAITS = "scripts/gpu/wait_steps.py"

fault("a driver that refuses memory which grows ends the run", MEMORY, "    if (!segments_grow()) throw;\n", "    if (segments_grow() || error.what() != nullptr) throw;\n",
      tests=[BLOCKS, EITHER], says=r"unexpected exception|operation not permitted|asked 3")

fault("memory in blocks drops what else the user says of the allocator", MEMORY,
      'settings + (settings.empty() ? "" : ",") + "expandable_segments:False"', '"expandable_segments:False"',
      tests=[BLOCKS], says=r"max_split_size")

fault("a device without memory is asked for it in blocks", MEMORY, "    throw;  // of which there would be no more the other way\n",
      '    refused = "no memory";\n', tests=[EITHER], says=r"asked == 1|OutOfMemoryError")

fault("memory is asked for twice of a device that is lost", MEMORY, "    if (!segments_grow()) throw;\n", "    if (!segments_grow()) refused = \"either way\";\n", tests=[EITHER], says=r"asked 4")

fault("full determinism fills every new tensor", NUMERICS,
      "    context.setDeterministicFillUninitializedMemory(\n        false);  // finds code that reads it, for a pass over every new tensor\n", "",
      tests=[DETERMINISM], says=r"deterministicFillUninitializedMemory")

fault("the day does not tell that an allocator grows", WAITS, "if grown else", "if False else",
      tests=["runs: the day of the GPU: waits are counted by the operator that makes them"], says=r"an allocator that grows is told")
