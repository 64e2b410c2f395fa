// The sources of the plug-in's kernels as nvcc gets them, in a C++ whose CUDA is language/.
#include "hftrain/cuda/cross_entropy_kernels.cu"
#include "hftrain/cuda/elementwise_kernels.cu"
#include "hftrain/cuda/norm_kernels.cu"
