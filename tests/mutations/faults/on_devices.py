# What a GPU would show, where the CPU lets it be seen.
fault("AdamW hands LibTorch's kernel parameters of several types", "lib/hftrain/optim/fused_adam.cpp",
      "kinds[{item->parameter.device().type(), item->parameter.scalar_type()}]", "kinds[{item->parameter.device().type(), at::kFloat}]",
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
      "lib/hftrain/nn/device_attention.cpp", "(half && !masked)) return x;", "(half && (!masked || half))) return x;",
      tests=["nn: keys are repeated on a device where no kernel knows groups of heads"],
      says=r"heads_of\(half, true\) == 8")

fault("the norm of no gradients waits for the device",
      "lib/hftrain/optim/gradient_norm.cpp", "at::TensorOptions(device).dtype(at::kDouble)", "at::TensorOptions(at::kCPU).dtype(at::kDouble)",
      tests=["optim: The norm of no gradients is made on the device that asks, for whose work nobody waits"],
      says=r"is_meta")

fault("a thread that makes batches looks for pinned memory on the first GPU, whoever's it is",
      "lib/hftrain/trainer/loader_threads.cpp", "  runtime::work_for(device_);\n", "",
      tests=["trainer: threads that make batches work for their rank's device"], says=r"== 3")

fault("batches that rank 0 sends go through the group of the device",
      "lib/hftrain/trainer/batch_dispatch.cpp", "  communicator.host().broadcast(all, 0);\n}", "  communicator.broadcast(all, 0);\n}",
      tests=["trainer: rank 0 sends each rank its batch without the group of a device"], says=r"(?i)broadcast|failed")

fault("cuDNN's attention is taken beside a mask, where it gives no numbers",
      "lib/hftrain/nn/device_attention.cpp", "(dropout > 0 || masked || !causal)", "(dropout > 0 || (masked && dropout > 0) || !causal)",
      tests=["nn: cuDNN's attention is not taken on a device beside dropout or a mask, or without order, where it is wrong"],
      says=r"needs_other_kernels\(there, 0, true")

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

fault("layers with a window get the mask of layers without one",
      "lib/hftrain/nn/shared_masks.cpp", "each.order == order && each.dtype", "each.dtype",
      tests=["nn: layers of one order share a mask whose rows begin where kernels want them"],
      says=r"equal\(first")

fault("the mask that a decoder's blocks share is in no plan",
      "lib/hftrain/plan/activation_memory.cpp", "+= mask_bytes(architecture, plan, input);", "+= 0 * mask_bytes(architecture, plan, input);",
      tests=["plan: a mask that the blocks of a decoder share counts once on a GPU, and for each window"],
      says=r"64 \* 64 \* 2")

fault("a token beyond the vocabulary is left to the embedding's kernel",
      "lib/hftrain/models/model.cpp", "if (low >= 0 && high < vocabulary) return;", "if (vocabulary > 0) return;",
      tests=["models: a token beyond the vocabulary is told by its number, before the embeddings see it"],
      says=r"is out of range")

fault("a label beyond the outputs is left to a device's kernel",
      "lib/hftrain/models/objective.cpp", "nn::require_targets_in_range(seen.reshape({-1}), architecture.outputs());",
      "static_cast<void>(seen);",
      tests=["models: a label that a device would stumble over is told by the host"],
      says=r"label 3 is out of range")

fault("keys that are repeated beside a window's mask are not counted",
      "lib/hftrain/plan/activation_memory.cpp", "return block.repeated * cut / static_cast<int64_t>(windows.size());", "return cut * 0;",
      tests=["plan: keys that are repeated beside the mask of a window count for the blocks that have one"],
      says=r"of_window")

fault("only AdamW's updates are handed out before their norm is known", "lib/hftrain/optim/stateful_optimizer.h",
      "bool skips_by_tensor() const override { return true; }", "bool skips_by_tensor() const override { return false; }",
      tests=["optim: Every optimizer leaves parameters and state as they are where a device's tensor tells it to skip"],
      says=r"skips_by_tensor")

fault("an update that a device has skipped counts on the host", "lib/hftrain/optim/stateful_optimizer.cpp",
      "  for (const at::Tensor& step : advanced_) step.sub_(1);\n", "",
      tests=["trainer: an update that a device skips counts in no optimizer, though the host hears of it late"],
      says=r"counts_of|distance")

fault("gradients that are no numbers stay so times 0", "lib/hftrain/optim/gate.cpp",
      "bits.push_back(each.view(at::kInt));", "bits.push_back(each);",
      tests=["optim: Every optimizer leaves parameters and state as they are where a device's tensor tells it to skip"],
      says=r"== 0")

fault("a device's Adafactor keeps the averages of an update that it has skipped", "lib/hftrain/optim/adafactor.cpp",
      "      if ((*item.state)[i].defined()) changed.push_back((*item.state)[i]);\n", "",
      tests=["optim: Every optimizer leaves parameters and state as they are where a device's tensor tells it to skip"],
      says=r"== 0")

fault("decays of moments are rounded to bfloat16 on a device", "lib/hftrain/optim/list_optimizer.cpp",
      "  if (all_are_float(changed)) return", "  if (all_are_float(changed) || !changed.empty()) return",
      tests=["optim: An update that a device could skip is the one that the host makes"], says=r"farthest|to view BFloat16")

fault("a device updates each parameter alone", "lib/hftrain/optim/list_optimizer.cpp",
      "found == open.end() || !on_device(parameter) ||", "found == open.end() || on_device(parameter) ||",
      tests=["optim: A device updates parameters together, where each number is updated by itself"], says=r"lists_of\(1\)")

fault("a group is left while its last works are asked", "lib/hftrain/comm/communicator.cpp",
      "      if (watch_) watch_->rest(kLastWorks);\n", "",
      tests=["comm: a group is left when its last works are over, and nobody asks them meanwhile"], says=r"asked_behind")

fault("a watch that is to rest leaves what is under way", "lib/hftrain/comm/work_watch.cpp",
      "  while (!ends_) {", "  while (!ends_ && !rests_) {",
      tests=["comm: a watch that is to rest keeps the deadline of what is under way"], says=r"ready")

fault("a device's lists hold parameters that have not been updated equally often",
      "lib/hftrain/optim/list_optimizer.cpp", "const std::tuple kind(parameter.device().type(), parameter.scalar_type(), count);", "const std::tuple kind(parameter.device().type(), parameter.scalar_type(), count * 0);",
      tests=["optim: A device updates together what has been updated equally often"], says=r"farthest")

fault("a device's list has no bound",
      "lib/hftrain/optim/list_optimizer.cpp", "found->second.bytes + bytes > kListBytes", "found->second.bytes + bytes < 0",
      tests=["optim: A device updates parameters together, where each number is updated by itself"], says=r"lists_of\(3")

fault("the wait for the norm of the update before fails every row of the day's waits",
      "scripts/gpu/wait_steps.py", "if operator is None and NORM.fullmatch", "if operator is None and LOGGED == 0 and NORM.fullmatch",
      tests=["runs: the day of the GPU: waits are counted by the operator that makes them"],
      says=r"an update may wait for the norm of the one before")

fault("the day lets an update wait for any event",
      "scripts/gpu/wait_steps.py", "return found if len(found) <= UPDATES and", "return found if len(found) < 1000 or",
      tests=["runs: the day of the GPU: waits are counted by the operator that makes them"],
      says=r"no oftener than once an update")

fault("the day takes a run on the CPU for one on the GPU",
      "scripts/gpu/trial.py", '    if devices != ["cuda"]:\n', '    if devices == ["no device"]:\n',
      tests=["runs: the day of the GPU: a run on no gpu shows nothing of one"],
      says=r"nothing holds that was on the CPU")

fault("a day without a GPU begins",
      "scripts/gpu/day", 'if not seen.get("devices") or seen.get("problem"):', 'if seen.get("devices") == "none":',
      tests=["runs: the day of the GPU: a run on no gpu shows nothing of one"],
      says=r"a day without a GPU ends at once")

fault("the day's first row fails on a machine without Arrow",
      "scripts/gpu/steps.py", 'if problem["fatal"] or problem["name"] in NEEDED]', 'if problem["fatal"] or problem["name"]]',
      tests=["runs: the day of the GPU: what only a gpu can show is told as it is"],
      says=r"no Arrow is packed")

fault("the day's memory may be far beyond the plan",
      "scripts/gpu/speed_steps.py", "held <= 1.05 * planned + WORKSPACES", "held <= 1.5 * planned + WORKSPACES",
      tests=["runs: the day of the GPU: what only a gpu can show is told as it is"],
      says=r"5 % and the workspaces")

fault("a plan that is too careful fails the day",
      "scripts/gpu/speed_steps.py", "    if good and ratio < 0.95:\n", "    if ratio < 0.95:\n        good = False\n    if good and planned < 0:\n",
      tests=["runs: the day of the GPU: what only a gpu can show is told as it is"],
      says=r"5 % and the workspaces")

fault("the day's watched kernels fail by calls that LibTorch handles",
      "scripts/gpu/steps.py", '"--report-api-errors", "no", ', "",
      tests=["runs: the day of the GPU: what only a gpu can show is told as it is"],
      says=r"where was looked")

fault("what a watched program has started holds up the day",
      "scripts/gpu/steps.py", "            os.killpg(process.pid, signal.SIGKILL)\n", "            process.kill()\n            process.communicate()\n",
      tests=["runs: the day of the GPU: kernels under watch take no more than a step"],
      says=r"holds nobody up|TIMEOUT|Timeout")

fault("the day finds no rank on a kernel that does not list children",
      "scripts/gpu/fault_steps.py", "    except FileNotFoundError:  # a kernel", "    except IsADirectoryError:  # a kernel",
      tests=["runs: the day of the GPU: what a machine lacks is found in another way"],
      says=r"task/\d+/children")

fault("the Trainer of the day loads its batches itself",
      "scripts/gpu/peer_steps.py", 'f"dataloader_num_workers={WORKERS}", ', "",
      tests=["runs: the day of the GPU: what a machine lacks is found in another way"],
      says=r"KeyError: 60|loaded by two workers")

fault("a run of the day that ends badly takes the rows behind it with it",
      "scripts/gpu/trial.py", '            self.row(name, False, f"{type(failure).__name__}: {failure}")\n', "            raise\n",
      tests=["runs: the day of the GPU: a run that ends badly fails its row alone and other bits are told"],
      says=r"its words are the row's|KeyError")

fault("other bits of a run with --full_determinism pass the day",
      "scripts/gpu/figure_steps.py", '("with", ["--full_determinism"], True)', '("with", ["--full_determinism"], False)',
      tests=["runs: the day of the GPU: a run that ends badly fails its row alone and other bits are told"],
      says=r"and fail where they were to be the same")

fault("the rows of the day's matrices are tried one after the other",
      "scripts/gpu/trial.py", "ThreadPoolExecutor(self.together)", "ThreadPoolExecutor(min(1, self.together))",
      tests=["runs: the day of the GPU: rows of a matrix are tried together on a gpu"],
      says=r"BrokenBarrierError")

fault("a container in which kernels cannot be watched fails the day",
      "scripts/gpu/steps.py", 'if "Device not supported" in line]', 'if "no such words" in line]',
      tests=["runs: the day of the GPU: kernels under watch take no more than a step"],
      says=r"why there is no watch")

MOMENTS = "plan: gradients come as activations go: the most of a step is that of one of its moments"
fault("the plan has all gradients beside all activations",
      "lib/hftrain/plan/step_moments.cpp", "const bool stay = in_buckets ||", "const bool stay = in_buckets || !in_buckets ||",
      tests=[MOMENTS], says=r"9205")

fault("the plan has gradients come before they are there",
      "lib/hftrain/plan/step_moments.cpp", "    kept -= step.blocks[i].kept;\n", "    kept -= step.blocks[i].kept - 1;\n",
      tests=[MOMENTS], says=r"at_once")

fault("the buckets of DDP are planned as gradients that go",
      "lib/hftrain/plan/step_moments.cpp", "const bool in_buckets = !plan.strategy.sharded() && plan.ranks.world_size > 1;", "const bool in_buckets = plan.strategy.sharded() && plan.ranks.world_size > 1;",
      tests=["plan: gradients that stay from one micro-batch to the next are beside all activations"], says=r"between == 4000|15000|at_once")

fault("copies of weights stay to the end of a step in the plan",
      "lib/hftrain/plan/step_moments.cpp", "    passed = there;\n", "",
      tests=["plan: weights in the type of the forward pass go when backward has left them"], says=r"with\(4000, 2000\)")

fault("a tied matrix has one gradient in the plan",
      "lib/hftrain/plan/step_moments.cpp", "moment(kept + share_of(shares.twice, state.gradients));", "moment(kept);",
      tests=["plan: a tied matrix has its gradient from the head on, and a second one at the end"], says=r"4000")

fault("the plan takes blocks between those that are computed again for such, too",
      "lib/hftrain/plan/activation_memory.cpp", "plan.model.gradient_checkpointing && step.blocks.size() % each == 0;", "plan.model.gradient_checkpointing && each > 0;",
      tests=["plan: of every so many blocks one is computed again, and the others keep what they would"], says=r"each < second")

fault("the plan doubles what backward adds to a block",
      "lib/hftrain/plan/activation_memory.cpp", "own_tokens * stack.block.passing * item : own;", "own_tokens * stack.block.passing * item * 2 : own;",
      tests=["models: a step holds at once what the plan's moments say"], says=r"ratio")
