#include <cstdio>

#include "spec/schema.h"

int main() { std::fputs(attngen::spec::json_schema().c_str(), stdout); }
