#include "expr/parse.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "expr/print.h"
#include "scope.h"

using namespace attngen::expr;
using namespace attngen::expr::testing;

namespace {

// The error as a reader sees it: the text under the caret, the message, the help.
std::string error_of(std::string_view text, const Scope& scope = rich_scope()) {
  const auto result = parse(text, scope);
  if (std::holds_alternative<Expr>(result)) {
    return "parsed as " + print(std::get<Expr>(result));
  }
  const Error& error = std::get<Error>(result);
  const std::string_view caret = text.substr(error.span.begin, error.span.end - error.span.begin);
  const std::string help = error.help.empty() ? "" : fmt::format("; {}", error.help);
  return fmt::format("[{}] {}{}", caret, error.message, help);
}

std::string repeated(std::string_view piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += piece;
  }
  return text;
}

}  // namespace

TEST_CASE("precedence is Python's") {
  const auto grouped = [](std::string_view a, std::string_view b) {
    CHECK_MESSAGE(same(parsed(a), parsed(b)), fmt::format("{} is not {}", a, b));
  };
  grouped("x + y * m", "x + (y * m)");
  grouped("x - y - m", "(x - y) - m");
  grouped("x / y * m", "(x / y) * m");
  grouped("q_idx // 2 % 3", "(q_idx // 2) % 3");
  grouped("-x * y", "(-x) * y");
  grouped("- -x", "-(-x)");
  grouped("+x", "x");
  grouped("not x < y and y < m", "(not (x < y)) and (y < m)");
  grouped("x < y or y < m and m < l", "(x < y) or ((y < m) and (m < l))");
  grouped("x + 1 < y - 1", "(x + 1) < (y - 1)");
  grouped("x if x < y else y if y < m else m", "x if (x < y) else (y if (y < m) else m)");
  grouped("x + y if x < y else m", "(x + y) if x < y else m");
  grouped("where(x < y, x, y)", "x if x < y else y");
  grouped("clamp(x, -1, 1)", "min(max(x, -1), 1)");
  grouped("max(x, y, m)", "max(max(x, y), m)");
  grouped("  x\t+\n y ", "x+y");
  grouped(".5 + 1. + 1e-3 + 2.5E+2", "0.5 + 1.0 + 0.001 + 250.0");
}

TEST_CASE("a comparison of conditions keeps its parentheses") {
  CHECK(print(parsed("(x < y) == (y < m)")) == "(x < y) == (y < m)");
  CHECK(print_c(parsed("(x < y) == (y < m)"), Dialect::Device) == "(x < y) == (y < m)");
}

TEST_CASE("printed text has the type of what it prints") {
  CHECK(print(parsed("q_idx + 2.0")) == "q_idx + 2.0");
}

TEST_CASE("types are inferred") {
  CHECK(parsed("q_idx + 1").type() == Type::Int);
  CHECK(parsed("q_idx / 2").type() == Type::Float);
  CHECK(parsed("q_idx // 2").type() == Type::Int);
  CHECK(parsed("q_idx + 1.0").type() == Type::Float);
  CHECK(parsed("q_idx * x").operand(0).op() == Op::ToFloat);
  CHECK(parsed("sqrt(q_idx)").type() == Type::Float);
  CHECK(parsed("abs(q_idx)").type() == Type::Int);
  CHECK(parsed("min(q_idx, 0.5)").type() == Type::Float);
  CHECK(parsed("q_idx if true else x").type() == Type::Float);
  CHECK(parsed("q_pos - kv_idx < window").type() == Type::Bool);
  CHECK(parsed("(x < y) == (y < m)").type() == Type::Bool);
  CHECK(parsed("doc_id[kv_idx]").type() == Type::Int);
  CHECK(parsed("slopes[h] * cap").type() == Type::Float);
  CHECK(parsed("max(rowmax(score), 0)").type() == Type::Float);
  CHECK(parsed("rowmax(score) + rowsum(score)").type() == Type::Float);
  CHECK(parsed("2147483647").is_number(2147483647));
}

TEST_CASE("spans cover the text of the node") {
  const std::string_view text = "x * (y + score) - cap";
  const Expr e = parsed(text);
  const auto covered = [&](const Expr& node) {
    return text.substr(node.span().begin, node.span().end - node.span().begin);
  };
  CHECK(covered(e) == text);
  CHECK(covered(e.operand(0)) == "x * (y + score)");
  CHECK(covered(e.operand(0).operand(1)) == "y + score");
  CHECK(covered(e.operand(1)) == "cap");
}

TEST_CASE("names that do not exist") {
  CHECK(error_of("kv_idx <= q_pso") == "[q_pso] unknown name 'q_pso'; did you mean 'q_pos'?");
  CHECK(error_of("slope[h]") == "[slope] unknown name 'slope'; did you mean 'slopes'?");
  CHECK(error_of("KV_IDX") == "[KV_IDX] unknown name 'KV_IDX'; did you mean 'kv_idx'?");
  CHECK(error_of("NOT(x < y)") == "[NOT] unknown function 'NOT'; did you mean 'not'?");
  CHECK(error_of("zebra") == "[zebra] unknown name 'zebra'");
  CHECK(
      error_of(std::string(65, 'z')).ends_with("] unknown name '" + std::string(64, 'z') + "...'"));
  CHECK(error_of("tahn(x)") == "[tahn] unknown function 'tahn'; did you mean 'tanh'?");
  CHECK(error_of("weight * 2") ==
        "[weight] 'weight' is not allowed here: a score comes before its weight; write it in the "
        "weight");
  CHECK(error_of("score(1)") == "[score] 'score' is not a function");
  CHECK(error_of("slopes(h)") == "[slopes] 'slopes' is not a function; write slopes[h]");
  CHECK(error_of("bias (max(h, 1), q_idx) + (x)") ==
        "[bias] 'bias' is not a function; write bias[max(h, 1), q_idx]");
  CHECK(error_of("bias(h, (q_idx") == "[bias] 'bias' is not a function; write bias[h, (q_idx]");
  CHECK(error_of("cap(h)") == "[cap] 'cap' is not a function; write cap");
  CHECK(error_of("torch.exp(x)") == "[.] unexpected '.'; names have no dots: write exp(...)");
  CHECK(error_of("x.abs ( )") == "[.] unexpected '.'; names have no dots: write abs(...)");
  CHECK(error_of("a.") == "[.] unexpected '.'; names have no dots");
  CHECK(error_of("exp + 1") == "[exp] 'exp' is a function; call it with 1 argument");
  CHECK(error_of("x[h]") == "[[] 'x' has no indices");
}

TEST_CASE("calls and indices") {
  CHECK(error_of("clamp(x, 1)") == "[clamp(x, 1)] clamp takes 3 arguments, got 2");
  CHECK(error_of("exp()") == "[exp()] exp takes 1 argument, got 0");
  CHECK(error_of("min(x)") == "[min(x)] min takes at least 2 arguments, got 1");
  CHECK(error_of("max(x)") ==
        "[max(x)] max takes at least 2 arguments, got 1; rowmax is over the pairs of a row");
  CHECK(error_of("bias[h]") == "[[h]] input 'bias' needs 2 indices [heads, seq_q], got 1 index");
  CHECK(error_of("slopes") == "[slopes] input 'slopes' needs 1 index [heads], got none");
  CHECK(error_of("cap[h]") == "[[h]] input 'cap' is a scalar, got 1 index");
  CHECK(error_of("1 + bias[h] [q_idx %\n 4] * 2") ==
        "[[h] [q_idx %\n 4]] input 'bias' needs 2 indices [heads, seq_q] in one pair of brackets; "
        "write bias[h, q_idx % 4]");
  CHECK(error_of("slopes[h][q_idx]") ==
        "[[h][q_idx]] input 'slopes' needs 1 index [heads], got 2 indices");
  CHECK(error_of("bias[:, h]") ==
        "[:] unexpected ':'; an index is an expression, such as kv_idx: there are no slices");
  CHECK(error_of("bias[slopes[h]:, h]") == error_of("bias[:, h]"));
  CHECK(error_of("slopes[h] : x") == "[:] unexpected ':'; write 'a if condition else b'");
  CHECK(error_of("slopes[x]") ==
        "[x] an index must be i32, got f32; write int(...), which is the floor");
  CHECK(error_of("slopes[h / 2]") ==
        "[h / 2] an index must be i32, got f32; '//' divides whole numbers");
  CHECK(error_of("slopes[h") == "[[] '[' is not closed; add ']'");
  CHECK(error_of("rowmax(rowsum(score))") ==
        "[rowsum] 'rowsum' inside 'rowmax'; name the inner one as a row of its own, above");
  Scope no_reductions = rich_scope();
  no_reductions.reductions = false;
  CHECK(error_of("rowmax(score)", no_reductions) ==
        "[rowmax] 'rowmax' is not allowed here; only the rows of 'normalize' reduce over pairs");
}

TEST_CASE("types that do not fit") {
  CHECK(error_of("x and y < m") ==
        "[x] 'and' needs bool operands, got f32; compare it with something");
  CHECK(error_of("not q_idx") ==
        "[q_idx] 'not' needs a bool operand, got i32; compare it with something");
  // An input's element is a flag, which the help compares.
  CHECK(error_of("x < y and slopes[h]") ==
        "[slopes[h]] 'and' needs bool operands, got f32; write slopes[h] != 0");
  CHECK(error_of("not slopes[h + 1]") ==
        "[slopes[h + 1]] 'not' needs a bool operand, got f32; write slopes[h + 1] == 0");
  CHECK(error_of("x if slopes[h] else y") ==
        "[slopes[h]] a condition must be bool, got f32; write slopes[h] != 0");
  CHECK(error_of("x + (x < y)") ==
        "[x < y] '+' needs numbers, got bool; where(condition, 1, 0) makes a number of a bool");
  CHECK(error_of("+(x < y)").starts_with("[x < y] "));
  CHECK(error_of("exp(x < y)") ==
        "[x < y] 'exp' needs a number, got bool; where(condition, 1, 0) makes a number of a bool");
  CHECK(error_of("x if y else m") ==
        "[y] a condition must be bool, got f32; compare it with something");
  CHECK(error_of("x if x < y else true") ==
        "[true] both values must be bool or both numbers, got f32 and bool");
  CHECK(error_of("x == true") ==
        "[true] '==' needs both operands bool or both numbers, got f32 and bool");
}

TEST_CASE("text that is not an expression") {
  CHECK(error_of("") == "[] expected an expression, got the end of the expression");
  CHECK(error_of("x +") == "[] expected an expression, got the end of the expression");
  CHECK(error_of("x y") == "[y] expected an operator or the end, got 'y'");
  CHECK(error_of("(x + y") == "[(] '(' is not closed; add ')'");
  CHECK(error_of("(x y)") == "[y] expected an operator or ')', got 'y'");
  CHECK(error_of("x)") == "[)] expected an operator or the end, got ')'");
  CHECK(error_of("x < y < m") == "[<] comparisons do not chain; write 'a < b and b < c'");
  const std::string equals =
      "[=] unexpected '='; write '==' to compare; arguments have no names, and nothing is assigned";
  CHECK(error_of("x = y") == equals);
  CHECK(error_of("clamp(x, low=0, high=1)") == equals);
  CHECK(error_of("x => y") == "[=>] unexpected '=>'; write '>='");
  CHECK(error_of("x =< y") == "[=<] unexpected '=<'; write '<='");
  CHECK(error_of("x < y && y < m") == "[&&] unexpected '&&'; write 'and'");
  CHECK(error_of("x < y || y < m") == "[||] unexpected '||'; write 'or'");
  CHECK(error_of("(x < y) & (y < m)") ==
        "[&] unexpected '&'; write 'and'; of an integer, i % 8 for i & 7");
  CHECK(error_of("(x < y) | (y < m)") == "[|] unexpected '|'; write 'or'");
  CHECK(error_of("!(x < y)") == "[!] unexpected '!'; write 'not'");
  CHECK(error_of("~(x < y)") == "[~] unexpected '~'; write 'not'");
  CHECK(error_of("q_idx >> 3") == "[>>] unexpected '>>'; write i // 8 for i >> 3");
  CHECK(error_of("q_idx << 3") == "[<<] unexpected '<<'; write i * 8 for i << 3");
  CHECK(error_of("x ^ 2") == "[^] unexpected '^'; write pow(x, y); between conditions, '!='");
  CHECK(error_of("(x < y) xor (y < m)") ==
        "[xor] expected an operator or the end, got 'xor'; between conditions, write '!='");
  CHECK(error_of("(x is y)") == "[is] expected an operator or ')', got 'is'; write '=='");
  CHECK(error_of("x < y AND y < m") ==
        "[AND] expected an operator or the end, got 'AND'; did you mean 'and'?");
  CHECK(error_of("x if x < y ELSE m") ==
        "[ELSE] expected 'else', got 'ELSE'; did you mean 'else'?");
  CHECK(error_of("x ** 2") == "[**] unexpected '**'; write pow(x, y)");
  CHECK(error_of("x + not x < y") == "[not] 'not' needs parentheses here; write '(not ...)'");
  CHECK(error_of("x if x < y") == "[] expected 'else', got the end of the expression");
  CHECK(error_of("x ; y") == "[;] unexpected ';'");
  CHECK(error_of("x \xE2\x89\xA4 y") == "[\xE2\x89\xA4] unexpected character U+2264; write '<='");
  CHECK(error_of("x \xF0\x9F\x98\x80 y") == "[\xF0\x9F\x98\x80] unexpected character U+1F600");
  CHECK(error_of("x \xF0 y") == "[\xF0] unexpected byte 0xf0");
  CHECK(error_of(std::string_view("x \0 y", 5)) ==
        std::string_view("[\0] unexpected control character 0x00", 37));
}

TEST_CASE("characters that look like others, or like nothing") {
  CHECK(error_of("x\xC2\xA0+ y") ==
        "[\xC2\xA0] unexpected character U+00A0 (no-break space); write a plain space");
  CHECK(error_of("x\xE2\x80\x8B + y") ==
        "[\xE2\x80\x8B] unexpected character U+200B (zero-width space); delete it");
  CHECK(error_of("\xEF\xBB\xBFx") ==
        "[\xEF\xBB\xBF] unexpected character U+FEFF (byte order mark); delete it");
  CHECK(error_of("\xE2\x80\x99x") ==
        "[\xE2\x80\x99] unexpected character U+2019 (curly quote); write a plain '");
}

TEST_CASE("numbers") {
  CHECK(error_of("2147483648") ==
        "[2147483648] integer does not fit in i32; add '.0' to make it an f32");
  CHECK(error_of(repeated("9", 400)).find("integer does not fit in i32") != std::string::npos);
  CHECK(error_of("1e99") == "[1e99] number does not fit in f32");
  CHECK(error_of("1e999") == "[1e999] number does not fit in f32");
  for (const std::string tiny : {"1e-39", "1e-400", "0.000001e-99999999999", "0.1e-400"}) {
    CHECK(error_of(tiny) ==
          fmt::format("[{}] number is too small for f32, whose least is 1.18e-38", tiny));
  }
  CHECK(error_of("100000e99999999999") == "[100000e99999999999] number does not fit in f32");
  CHECK(parsed("3.4028234663852886e38").is_number(std::numeric_limits<float>::max()));
  CHECK(parsed("1.1754943508222875e-38").is_number(std::numeric_limits<float>::min()));
  CHECK(error_of("0x10") == "[0x10] malformed number");
  CHECK(error_of("1.2.3") == "[1.2.3] malformed number");
  CHECK(error_of("1e+") == "[1e+] malformed number");
}

TEST_CASE("the least i32") {
  const Expr least = parsed("-2147483648");
  CHECK(least.type() == Type::Int);
  CHECK(least.is_number(-2147483648.0));
  CHECK(print(parsed("kv_idx < -2147483648")) == "kv_idx < -2147483648");
  const std::string too_large =
      "[2147483648] integer does not fit in i32; add '.0' to make it an f32";
  CHECK(error_of("kv_idx - 2147483648") == too_large);
  CHECK(error_of("+2147483648") == too_large);
  CHECK(error_of("-(2147483648)") == too_large);
  CHECK(error_of("--2147483648") == "parsed as -(-2147483648)");
  CHECK(error_of("-2147483649") ==
        "[2147483649] integer does not fit in i32; add '.0' to make it an f32");
}

TEST_CASE("a long list is not nested") {
  for (const std::string op : {"x + ", "x * ", "x < y and ", "x < y or "}) {
    const Expr e = parsed(repeated(op, 2000) + (op.size() > 4 ? "x < y" : "x"));
    CHECK(e.height() <= 64);
    CHECK(e.span().end == 2000 * op.size() + (op.size() > 4 ? 5 : 1));
  }
  CHECK(parsed("max(" + repeated("x, ", 2000) + "x)").height() <= 64);
  // In their order.
  const std::string mixed = repeated("q_idx + h + ", 100) + "kv_idx - x";
  std::string printed = print(parsed(mixed));
  std::erase_if(printed, [](char c) { return c == '(' || c == ')'; });
  CHECK(printed == mixed);
  // Behind what is nested indeed.
  CHECK(parsed(repeated("-", 150) + "x" + repeated(" + y", 1000)).height() < 200);
}

TEST_CASE("depth and size are limited") {
  const std::string too_deep = "expression is nested deeper than 200";
  const auto message = [](const std::string& text) {
    const auto result = parse(text, rich_scope());
    const auto* error = std::get_if<Error>(&result);
    return error == nullptr ? "" : error->message;
  };
  CHECK(message(repeated("(", 100'000)) == too_deep);
  CHECK(message(repeated("(", 100'000) + "x" + repeated(")", 100'000)) == too_deep);
  CHECK(message(repeated("-", 100'000) + "x") == too_deep);
  CHECK(message(repeated("not ", 100'000) + "true") == too_deep);
  CHECK(message(repeated("x if true else ", 100'000) + "x") == too_deep);
  CHECK(message(repeated("exp(", 100'000)) == too_deep);
  CHECK(message(repeated("doc_id[", 100'000)) == too_deep);
  CHECK(message(repeated("x - ", 100'000) + "x") == too_deep);
  CHECK(message(repeated("x + ", 100'000) + "x") == "expression has more than 10000 nodes");
  CHECK(message("max(" + repeated("x, ", 100'000) + "x)") ==
        "expression has more than 10000 nodes");
  CHECK(message(repeated("(", 199) + "x" + repeated(")", 199)).empty());
  CHECK(message(repeated("x - ", 199) + "x").empty());
  CHECK(
      error_of("x" + repeated(" - x", 200)).ends_with("; put parts of a long list in parentheses"));
  // 2^14 leaves, 15 high.
  std::string wide = "x";
  for (int i = 0; i < 14; ++i) {
    wide = fmt::format("({0}) + ({0})", wide);
  }
  CHECK(message(wide) == "expression has more than 10000 nodes");
}

TEST_CASE("a name stands for a text, as in parentheses") {
  Scope scope = rich_scope();
  scope.lets = {{"gap", "h - 3"}, {"near", "gap < 4"}, {"twice", "2 * gap"}};
  const auto grouped = [&](std::string_view a, std::string_view b) {
    const auto result = parse(a, scope);
    REQUIRE(std::holds_alternative<Expr>(result));
    CHECK_MESSAGE(same(std::get<Expr>(result), parsed(b)), fmt::format("{} is not {}", a, b));
  };
  grouped("gap * 2", "(h - 3) * 2");
  grouped("x if not near else twice", "x if not ((h - 3) < 4) else (2 * (h - 3))");
  grouped("near == near", "((h - 3) < 4) == ((h - 3) < 4)");
  // All of it stands where the name does.
  const auto whole = parse("x + twice", scope);
  const Expr& twice = std::get<Expr>(whole).operand(1).operand(0);  // of a ToFloat
  CHECK(twice.operand(1).span().begin == 4);
  CHECK(twice.operand(1).span().end == 9);
  // What is wrong in it here alone is said at the name.
  scope.variables.erase("h");
  scope.forbidden["h"] = {"it is a test's", "write b"};
  CHECK(error_of("x + twice", scope) ==
        "[twice] in 'twice': in 'gap': 'h' is not allowed here: it is a test's; write b");
  CHECK(error_of("x + gpa", scope) == "[gpa] unknown name 'gpa'; did you mean 'gap'?");
  CHECK(error_of("gap(3)", scope) == "[gap] 'gap' is not a function");
}

TEST_CASE("names that stand for texts see those before them alone") {
  Scope scope = rich_scope();
  scope.lets = {{"early", "late + 1"}, {"late", "early + 1"}, {"own", "own"}};
  CHECK(error_of("early", scope).starts_with("[early] in 'early': unknown name 'late'"));
  CHECK(error_of("late", scope).starts_with("[late] in 'late': in 'early': unknown name 'late'"));
  CHECK(error_of("own", scope).starts_with("[own] in 'own': unknown name 'own'"));
}

TEST_CASE("names that stand for texts count as these do") {
  Scope scope = rich_scope();
  scope.lets = {{"t0", "x + x"}};
  for (int i = 1; i < 64; ++i) {
    scope.lets.push_back({fmt::format("t{}", i), fmt::format("t{0} * t{0}", i - 1)});
  }
  CHECK(error_of("t8", scope).starts_with("parsed as "));
  CHECK(error_of("t63", scope).ends_with("expression has more than 10000 nodes"));
  scope.lets = {{"deep", repeated("-(", 70) + "x" + repeated(")", 70)}};
  CHECK(error_of("deep", scope).starts_with("parsed as "));
  CHECK(error_of(repeated("-(", 60) + "deep" + repeated(")", 60), scope)
            .find("expression is nested deeper than 200") != std::string::npos);
}
