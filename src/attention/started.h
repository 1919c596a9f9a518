// Rows that a maximum decides are infinite until a pair with a finite score has come. What reads
// them would be inf - inf before: it waits.
#pragma once

#include <set>
#include <string>

#include "attention/row_form.h"

namespace attngen::attention {

// The in-loop rows that a maximum decides, by way of other rows too.
std::set<std::string, std::less<>> rows_of_maxima(const RowForm& form);

// Whether weights, or the sums that are taken with them, read one.
bool weights_wait(const RowForm& form);

}  // namespace attngen::attention
