// SPDX-License-Identifier: Apache-2.0
// https://github.com/benmcollins/libjwt
#pragma once

#include <jwt.h>
