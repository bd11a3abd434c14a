// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lz4.h>
#include <lz4frame.h>
