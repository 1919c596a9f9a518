// The space of schedules.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace attngen::schedule {

// What decides whether a schedule fits: tile, stages, place, overlap. One per point, in a fixed
// order, without ping-pong, on a plain grid in linear order.
std::vector<Schedule> shapes();

// The ways to run a shape on the grid: ping-pong or not, persistent or not, and, if tiles differ in
// length, the order in which they start.
std::vector<Schedule> variants(const Schedule& shape, bool uneven_tiles);

// The same for the CDNA2 template.
std::vector<Schedule> shapes_cdna2();
std::vector<Schedule> variants_cdna2(const Schedule& shape, bool uneven_tiles);

}  // namespace attngen::schedule
