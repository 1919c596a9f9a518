// Small pieces of HTML.
#pragma once

#include <string>
#include <string_view>

namespace attngen::report {

// Text as HTML, for elements and for quoted attributes: "a &lt; b".
std::string escape(std::string_view text);

// A time as people read it: "616.7 µs", "1.52 ms".
std::string time_text(double seconds);

// "4.53 TB/s", "980 GB/s".
std::string rate_text(double bytes_per_s);

// A share of a drawing's width, which is taken as 1: "12.50%".
std::string across(double share);

}  // namespace attngen::report
