// The one place where tests name Catch2, because version 2 and 3 differ in headers.
#pragma once

#include <catch2/catch.hpp>
