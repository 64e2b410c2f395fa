# What a GPU would show, where the CPU lets it be seen.
fault("AdamW hands LibTorch's kernel parameters of several types", "lib/hftrain/optim/adamw.cpp",
      "others[{parameter.device().type(), parameter.scalar_type()}]", "others[{parameter.device().type(), at::kFloat}]",
      tests=["optim: AdamW hands LibTorch's kernel parameters of one type at a time"], says=r"types\.size\(\) == 1")

fault("memory of a device that LibTorch's allocator did not ask for runs out as another error", "lib/hftrain/runtime/translate.cpp",
      "error.get_error_code() == kCudaOutOfMemory", "error.get_error_code() == -kCudaOutOfMemory",
      tests=["runtime: every foreign exception gets the exit code of its kind"], says=r"kDeviceMemory")

fault("a library that gets no memory of a device is an internal error", "lib/hftrain/runtime/translate.cpp",
      "if (is_failed_allocation(error))", "if (is_failed_allocation(error) && false)",
      tests=["runtime: every foreign exception gets the exit code of its kind"], says=r"kDeviceMemory")
