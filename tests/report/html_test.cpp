#include "report/html.h"

#include <doctest/doctest.h>

#include "candidates.h"
#include "report/html_table.h"
#include "report/main_loop.h"
#include "report/markup.h"
#include "report/roofline.h"

using namespace attngen::report;
using attngen::schedule::Bound;
using attngen::schedule::Ranking;

namespace {

size_t count(const std::string& text, const std::string& piece) {
  size_t n = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++n;
  return n;
}

bool has(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

}  // namespace

TEST_CASE("text becomes HTML") {
  CHECK(escape("a < b && \"c\" > 'd'") == "a &lt; b &amp;&amp; &quot;c&quot; &gt; &#39;d&#39;");
  CHECK(escape("µ ≤ \xF0\x9F\x99\x82") == "µ ≤ \xF0\x9F\x99\x82");
}

TEST_CASE("times and rates") {
  CHECK(time_text(616.66e-6) == "616.7 µs");
  CHECK(time_text(1.25e-3) == "1.25 ms");
  CHECK(time_text(2.5) == "2.5 s");
  CHECK(rate_text(4534e9) == "4.53 TB/s");
  CHECK(rate_text(980e9) == "980 GB/s");
  CHECK(across(0.125) == "12.50%");
}

TEST_CASE("the spec's text is escaped wherever it stands") {
  attngen::spec::Spec spec = tiny_spec();
  spec.doc = "</style><script>alert(1)</script>";
  spec.score_text = "score if q_idx < 3 else -score";
  spec.mask_text = "kv_idx <= q_pos";
  spec.normalize_text = "l = rowsum(exp(score))\nw = \"&\"";
  const std::string page = html(spec, tiny_target(), tiny_ranking());
  CHECK(has(page, "<p class=\"soft\">&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>"));
  CHECK(has(page, "score if q_idx &lt; 3 else -score"));
  CHECK(has(page, "kv_idx &lt;= q_pos"));
  CHECK(has(page, "l = rowsum(exp(score))\nw = &quot;&amp;&quot;"));
  CHECK(count(page, "<script>") == 1);
}

TEST_CASE("the head: who, how fast, why") {
  const std::string page = html(tiny_spec(), tiny_target(), tiny_ranking());
  CHECK(has(page, "<title>toy on tiny</title>"));
  CHECK(has(page, "<h1>toy <span>on tiny</span></h1>"));
  CHECK(
      has(page, "<dt>Predicted time</dt><dd>1.00 ms<small>weighted mean of the workload</small>"));
  CHECK(has(page, "<dd>512 TFLOP/s<small>64 % of the sustained matrix rate</small>"));
  CHECK(has(page, "<dd>tensor cores<small>busy 76 % of the time</small>"));
  CHECK(has(page, "<dd>256×64<small>25.0 % slower</small>"));
  CHECK(has(page,
            "The runner-up, 256x64, is 25.0 % slower; at the workload&#39;s first point "
            "the tensor cores are idle for "));
  CHECK(has(page, "batch 2, seq_q 128, seq_kv 256, weight 1\nbatch 1, seq_q 64"));
}

TEST_CASE("the page needs nothing beside it") {
  const std::string page = html(tiny_spec(), tiny_target(), tiny_ranking());
  CHECK(has(page, "content=\"default-src 'none'; "));
  for (const char* loader : {"http:", "https:", "src=", "href=", "url(", "@import", "fetch("}) {
    CAPTURE(loader);
    CHECK_FALSE(has(page, loader));
  }
}

TEST_CASE("same input, same bytes") {
  CHECK(html(tiny_spec(), tiny_target(), tiny_ranking()) ==
        html(tiny_spec(), tiny_target(), tiny_ranking()));
}

TEST_CASE("the table: a row for each candidate, in the order of rank") {
  const std::string table = candidates_table(tiny_ranking().ranked);
  CHECK(count(table, "<tr") == 2 + 3);
  CHECK(has(table, "<th aria-sort=\"ascending\" scope=\"col\">rank</th>"));
  CHECK(has(table,
            "<tr class=\"first\"><td>1</td><td>128×128</td><td>2</td>"
            "<td class=\"t\">one a tile</td><td class=\"t\">all</td><td>2</td>"
            "<td class=\"t\">registers</td><td class=\"t\">intra</td><td class=\"t\">yes</td>"
            "<td class=\"t\">persistent</td><td class=\"t\">longest</td>"
            "<td>1000.0</td><td>0.0</td><td>512.0</td><td class=\"t\">tensor cores</td>"
            "<td>192</td><td>100000</td>"
            "<td>1600</td><td>1000</td><td>500</td><td>900</td><td>200</td><td>20</td><td>2000</td>"
            "</tr>\n"));
  CHECK(has(table, "<tr><td>2</td>"));
  CHECK(has(table, "<tr class=\"next\"><td>3</td><td>256×64</td>"));
}

TEST_CASE("the rejected: a folded list for each reason") {
  const std::string lists = rejected_lists(tiny_ranking().rejected);
  CHECK(count(lists, "<details>") == 2);
  CHECK(count(lists, "<li>") == 3);
  CHECK(
      has(lists, "<summary>2 schedules: needs 120 bytes of shared memory; tiny has 100</summary>"));
  CHECK(rejected_lists({{wide(), "1 < 2"}}).find("<summary>1 schedule: 1 &lt; 2<") !=
        std::string::npos);
}

// The scales of tiny_ranking: 200 to 1250 TFLOP/s up; across from 200/8/8 = 3.125 to 2500.
TEST_CASE("the roofline: roofs and points stand where the figures say") {
  const std::string figure = roofline(tiny_target(), tiny_ranking().ranked);
  // 512 TFLOP/s: 384 (1 - ln(512/200) / ln(1250/200)) = 187.0; 1000: ln 320 / ln 800 = 86.29 %.
  CHECK(has(figure, "<circle class=\"disc\" cx=\"86.29%\" cy=\"187.0\" r=\"5.5\">"));
  CHECK(has(figure,
            "<title>#1 128x128, 2 stages, 2 warpgroups, weights in registers, "
            "intra-warpgroup overlap, ping-pong, persistent, longest first: 1.00 ms, 512.0 "
            "TFLOP/s, 1000 flop/byte</title>"));
  // The memory roof meets the peak of 1000 TFLOP/s at 250 flop/byte, from 200 TFLOP/s at 50.
  CHECK(has(figure, "<line x1=\"41.48%\" y1=\"384\" x2=\"65.55%\" y2=\"46.8\"/>"));
  CHECK(has(figure, ">memory 4.00 TB/s</text>"));
  CHECK(has(figure, ">L2 8.00 TB/s</text>"));
  CHECK(has(figure, ">matrix peak 1000 at 2.00 GHz</text>"));
  CHECK(has(figure, ">sustained, power-limited 800</text>"));
  // The third candidate and its L2 traffic; the second in the cloud.
  CHECK(has(figure, "<title>#3 256x64"));
  CHECK(has(figure, "<title>128 flop/byte of L2 traffic</title>"));
  CHECK(count(figure, "r=\"3.5\"><title>#2 128x128") == 1);
}

TEST_CASE("a workload without pairs has no place on a logarithmic scale") {
  Ranking ranking = tiny_ranking();
  for (auto& c : ranking.ranked) c.cost.flop_per_s = c.cost.flop_per_byte = 0;
  CHECK(roofline(tiny_target(), ranking.ranked) ==
        "<p>No pair exists: there is nothing to compute.</p>\n");
}

TEST_CASE("the main loop: clocks of both for as many pairs") {
  const auto ranked = tiny_ranking().ranked;
  const std::string figure = main_loop(ranked[0], &ranked[2]);
  // Both steps have 128 x 128 = 256 x 64 pairs; the longer one takes the whole width.
  CHECK(has(figure, "<rect y=\"0\" width=\"61.54%\" height=\"12\"/>"));  // 1600 of 2600 clk
  CHECK(has(figure, ">1600<tspan class=\"share\"> clk, 80 %</tspan>"));
  CHECK(has(figure, ">1600<tspan class=\"share\"> clk, 62 %</tspan>"));
  CHECK(has(figure, "width=\"100.00%\""));
  CHECK(has(figure, ">2600<tspan class=\"share\"> clk</tspan>"));

  auto half = ranked[2];
  half.schedule.tile_kv = 32;
  CHECK(has(main_loop(ranked[0], &half), ">3200<tspan class=\"share\"> clk, 62 %</tspan>"));
}

TEST_CASE("one candidate alone, as --schedule gives it") {
  Ranking ranking;
  ranking.ranked = {candidate(wide(), 1e-3, Bound::Latency)};
  const std::string page = html(tiny_spec(), tiny_target(), ranking);
  CHECK_FALSE(has(page, "unner-up, "));
  CHECK(has(page, "<dd>latency<small>no pipe is busy 75 % of the time</small>"));
  CHECK(has(page, "<h2>1 schedule fits</h2>"));
  CHECK_FALSE(has(page, "<details>"));
}
