// As torch.h, for tests.
#include "torch.h"

#include <catch2/catch.hpp>
