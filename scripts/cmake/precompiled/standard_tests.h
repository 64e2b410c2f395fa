// As standard.h, for tests.
#include "standard.h"

#include <catch2/catch.hpp>
