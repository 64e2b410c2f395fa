# Finds LibTorch inside the PyPI wheel and makes imported targets of it.
#   Input:  TORCH_WHEEL_DIR, the folder `torch` of the wheel (scripts/setup passes it; HFTRAIN_TORCH_DIR overrides)
#   Output: TorchWheel::cpu, TorchWheel_CUDA_VERSION (13.0), and TorchWheel::cuda where the wheel brings CUDA libraries and their companions
#           are there
# The package that torch itself ships wants nvcc and a matching toolkit merely to configure; these targets need neither.
if(NOT TORCH_WHEEL_DIR AND DEFINED ENV{HFTRAIN_TORCH_DIR})
  set(TORCH_WHEEL_DIR "$ENV{HFTRAIN_TORCH_DIR}")
endif()
set(TORCH_WHEEL_DIR "${TORCH_WHEEL_DIR}" CACHE PATH "folder torch of the PyPI wheel")
if(EXISTS "${TORCH_WHEEL_DIR}/version.py")
  file(STRINGS "${TORCH_WHEEL_DIR}/version.py" version_line REGEX "^__version__")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" TorchWheel_VERSION "${version_line}")
  file(STRINGS "${TORCH_WHEEL_DIR}/version.py" cuda_line REGEX "^cuda")
  string(REGEX REPLACE ".*'([0-9.]+)'.*" "\\1" TorchWheel_CUDA_VERSION "${cuda_line}")
endif()

find_library(TorchWheel_c10 c10 PATHS "${TORCH_WHEEL_DIR}/lib" NO_DEFAULT_PATH)
find_library(TorchWheel_torch_cpu torch_cpu PATHS "${TORCH_WHEEL_DIR}/lib" NO_DEFAULT_PATH)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TorchWheel
  REQUIRED_VARS TorchWheel_torch_cpu TorchWheel_c10 VERSION_VAR TorchWheel_VERSION
  REASON_FAILURE_MESSAGE "run scripts/setup, or pass -DTORCH_WHEEL_DIR=…/site-packages/torch")

if(TorchWheel_FOUND AND NOT TARGET TorchWheel::cpu)
  # The wheel carries headers of a newer fmt than the library we link. A folder with the one right link, given with -I,
  # is searched before every -isystem.
  set(first "${CMAKE_BINARY_DIR}/include-first")
  file(MAKE_DIRECTORY "${first}")
  find_path(FMT_INCLUDE fmt/format.h PATHS /usr/include NO_DEFAULT_PATH REQUIRED)
  file(CREATE_LINK "${FMT_INCLUDE}/fmt" "${first}/fmt" SYMBOLIC)

  add_library(TorchWheel::cpu INTERFACE IMPORTED GLOBAL)
  target_compile_options(TorchWheel::cpu INTERFACE "-I${first}")
  target_include_directories(TorchWheel::cpu SYSTEM INTERFACE
    "${TORCH_WHEEL_DIR}/include" "${TORCH_WHEEL_DIR}/include/torch/csrc/api/include")
  target_compile_definitions(TorchWheel::cpu INTERFACE USE_DISTRIBUTED)
  target_link_libraries(TorchWheel::cpu INTERFACE "${TorchWheel_torch_cpu}" "${TorchWheel_c10}")
  target_link_options(TorchWheel::cpu INTERFACE -Wl,--allow-shlib-undefined)
  # at::parallel_for is a template over OpenMP: what calls it compiles with it and shares the wheel's thread pool. All that uses
  # LibTorch does, so that one precompiled header serves all.
  target_compile_options(TorchWheel::cpu INTERFACE -fopenmp)
  target_link_libraries(TorchWheel::cpu INTERFACE "${TORCH_WHEEL_DIR}/lib/libgomp.so.1")

  find_library(TorchWheel_torch_cuda torch_cuda PATHS "${TORCH_WHEEL_DIR}/lib" NO_DEFAULT_PATH)
  find_library(TorchWheel_c10_cuda c10_cuda PATHS "${TORCH_WHEEL_DIR}/lib" NO_DEFAULT_PATH)
  get_filename_component(companions "${TORCH_WHEEL_DIR}/../nvidia" ABSOLUTE)
  if(TorchWheel_torch_cuda AND EXISTS "${companions}/nccl/lib/libnccl.so.2")
    add_library(TorchWheel::cuda INTERFACE IMPORTED GLOBAL)
    target_link_libraries(TorchWheel::cuda INTERFACE TorchWheel::cpu -Wl,--no-as-needed
      "${TorchWheel_torch_cuda}" "${TorchWheel_c10_cuda}" "${companions}/nccl/lib/libnccl.so.2" -Wl,--as-needed)
    target_include_directories(TorchWheel::cuda SYSTEM INTERFACE
      "${companions}/nccl/include" "${companions}/cu13/include")
    # The wheel's headers include those of cuBLAS, cuSPARSE and cuSOLVER, whose companions only a machine with a GPU gets;
    # elsewhere the toolkit has them.
    if(NOT EXISTS "${companions}/cu13/include/cusolverDn.h")
      find_program(TorchWheel_nvcc nvcc PATHS /usr/local/cuda/bin)
      get_filename_component(compiler "${TorchWheel_nvcc}" REALPATH)
      get_filename_component(toolkit "${compiler}" DIRECTORY)
      find_path(TorchWheel_toolkit_include cusolverDn.h HINTS "${toolkit}/../include" PATHS /usr/local/cuda/include)
      if(TorchWheel_toolkit_include)
        target_include_directories(TorchWheel::cuda SYSTEM INTERFACE "${TorchWheel_toolkit_include}")
      endif()
    endif()
    target_compile_definitions(TorchWheel::cuda INTERFACE USE_C10D_NCCL)
  endif()
endif()
