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

fault("a failed device ends its rank by SIGABRT when its pinned memory is given back",
      "lib/hftrain/runtime/failed_device.cpp", "    } catch (const c10::AcceleratorError&) {\n", "    } catch (const c10::DistError&) {\n",
      tests=["runtime: a failed device is told also where giving back its memory ends the process"],
      says=r"kEnvironment|said")

fault("keys are handed on in groups to a kernel that knows none",
      "lib/hftrain/nn/device_attention.cpp", "(half && !masked)) return x;", "half) return x;",
      tests=["nn: keys are repeated on a device where no kernel knows groups of heads"],
      says=r"heads_of\(half, true\) == 8")

fault("the norm of no gradients waits for the device",
      "lib/hftrain/optim/gradient_norm.cpp", "at::TensorOptions(device).dtype(at::kDouble)", "at::TensorOptions(at::kCPU).dtype(at::kDouble)",
      tests=["optim: The norm of no gradients is made on the device that asks, for whose work nobody waits"],
      says=r"is_meta")

fault("cuDNN's attention is taken for rows of any length",
      "lib/hftrain/runtime/numerics.cpp", "  context.setSDPUseCuDNN(numerics.cudnn_attention);\n", "",
      tests=["runtime: full determinism and TF32 set the switches of the contract"],
      says=r"userEnabledCuDNNSDP")

fault("an evaluation alone keeps an optimizer's state",
      "lib/hftrain/trainer/components.cpp", "plan.do_train || !plan.saving.resume_from.empty()", "true",
      tests=["runs: text classification: a saved classification is evaluated alone"],
      says=r"keeps no optimizer's state")

fault("two stars in a pattern of data files are one",
      "lib/hftrain/data/data_files.cpp", '.find("/**/") != std::string::npos', '.find("/**/") == 0',
      tests=["data: two stars in a pattern stand for any number of folders"],
      says=r"read_rows")
