#pragma once

#include "arithmetic.hpp"
#include "erf.hpp"
#include "exp.hpp"
#include "inverse_trig.hpp"
#include "log.hpp"
#include "trig.hpp"
