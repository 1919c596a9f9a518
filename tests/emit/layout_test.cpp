#include "emit/layout.h"

#include <doctest/doctest.h>

#include <string>

#include "emit/template_files.h"

namespace attngen::emit {
namespace {

// Behind `#if`s in a constructor's initialisers clang-format wants an empty body on two lines.
std::string with_empty_bodies(std::string text) {
  for (const std::string body : {") {\n}", ") {\n  }"}) {
    for (size_t at; (at = text.find(body)) != std::string::npos;) {
      text.replace(at, body.size(), ") {}");
    }
  }
  return text;
}

TEST_CASE("what is laid out for all #ifs stays") {
  for (const auto& file : template_files) {
    CAPTURE(file.first);
    CHECK(laid_out(file.second) == with_empty_bodies(std::string(file.second)));
  }
}

TEST_CASE("comments behind neighbours begin in one column") {
  CHECK(laid_out("int a;       // A.\nint bcd;  // B.\nint e;\nint f;    // F.\n") ==
        "int a;    // A.\nint bcd;  // B.\nint e;\nint f;  // F.\n");
  CHECK(laid_out("int a;  // A.\n#pragma unroll\nint bcd;  // B.\n// C.\n") ==
        "int a;  // A.\n#pragma unroll\nint bcd;  // B.\n// C.\n");
  CHECK(laid_out("}  // namespace\nint bcd;  // B.\n") == "}  // namespace\nint bcd;  // B.\n");
  // Where a comment would pass the last column, another run begins.
  const std::string much = "// " + std::string(89, 'x');
  CHECK(laid_out("int a;  " + much + "\nint bcd;  // B.\n") ==
        "int a;  " + much + "\nint bcd;  // B.\n");
  // A string is no comment.
  CHECK(laid_out("f(\"//\");\nint a; // A.\n") == "f(\"//\");\nint a;  // A.\n");
}

TEST_CASE("lists fill their lines") {
  CHECK(laid_out("  f(a,\n    b, (c, d),\n    e);\n") == "  f(a, b, (c, d), e);\n");
  CHECK(laid_out("  f(a,  // A.\n    b);\n") == "  f(a,  // A.\n    b);\n");
  CHECK(laid_out("  f(a,\n#if X\n    b);\n#endif\n") == "  f(a,\n#if X\n    b);\n#endif\n");
  const std::string a(45, 'a'), b(45, 'b'), c(45, 'c'), d(94, 'd');
  CHECK(laid_out("int f(" + a + ", " + b + ", " + c + ") {\n") ==
        "int f(" + a + ", " + b + ",\n      " + c + ") {\n");
  CHECK(laid_out("int f(" + a + ",\n   " + b + ",\n   " + c + ") {\n") ==
        "int f(" + a + ", " + b + ",\n      " + c + ") {\n");
  // An item that is too long to be behind the parenthesis.
  CHECK(laid_out("int f(" + d + ");\n") == "int f(\n    " + d + ");\n");
  CHECK(laid_out("int f(" + a + d + ");\n") == "int f(" + a + d + ");\n");
}

TEST_CASE("short functions stand on a line") {
  CHECK(laid_out("int f() const {\n  return 0;\n}\n") == "int f() const { return 0; }\n");
  CHECK(laid_out("int f()\n    : a(b) {\n}\n") == "int f()\n    : a(b) {}\n");
  const std::string name(80, 'f');
  const std::string broken = "int " + name + "() {\n  return 12345;\n}\n";
  CHECK(laid_out(broken) == broken);
  CHECK(laid_out("int " + name + "() { return 12345; }\n") == broken);
  for (const char* const same :
       {"template <int N>\nint f() {\n  return N;\n}\n", "  if (a) {\n    b();\n  }\n",
        "int f() {\n  return 0;  // none\n}\n", "int f() {\n  if (a) b();\n}\n"}) {
    CHECK(laid_out(same) == same);
  }
}

TEST_CASE("conditions and bounds") {
  const std::string a(50, 'a'), b(30, 'b');
  const std::string c(52, 'c');
  CHECK(laid_out("  if (" + a + ") return " + c + ";\n") ==
        "  if (" + a + ")\n    return " + c + ";\n");
  CHECK(laid_out("  if (" + a + "; " + c + ") return;\n") ==
        "  if (" + a + ";\n      " + c + ")\n    return;\n");
  CHECK(laid_out("void __launch_bounds__(1, 2)\n    f(int x) {\n") ==
        "void __launch_bounds__(1, 2) f(int x) {\n");
  CHECK(laid_out("void __launch_bounds__(1, 2) " + a + "(int " + b + ") {\n") ==
        "void __launch_bounds__(1, 2)\n    " + a + "(int " + b + ") {\n");
}

TEST_CASE("one namespace without a name behind another is the same") {
  CHECK(laid_out("a\n\n}  // namespace\n\nnamespace {\n\nb\n") == "a\n\nb\n");
  CHECK(laid_out("a\n\n}  // namespace\n\n// B.\n\nnamespace {\n\nb\n") == "a\n\n// B.\n\nb\n");
  CHECK(laid_out("a\n\n}  // namespace\n\nint b;\n") == "a\n\n}  // namespace\n\nint b;\n");
}

}  // namespace
}  // namespace attngen::emit
