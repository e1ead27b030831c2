#include "client.hpp"

// The language server as an editor sees it: the real program, driven by messages.

using namespace fusewright::tests;

namespace {

const std::string kUri = "file:///nowhere/test.fuse";

/// Parameters of a request about the place of the n-th occurrence of some text (ASCII).
Json place(const std::string& text, const std::string& part, int n = 0) {
  std::size_t at = text.find(part);
  while (n-- > 0) at = text.find(part, at + 1);
  REQUIRE(at != std::string::npos);
  const std::size_t start = text.substr(0, at).rfind('\n');
  const std::size_t column = start == std::string::npos ? at : at - start - 1;
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return {{"textDocument", {{"uri", kUri}}}, {"position", {{"line", line}, {"character", column}}}};
}

std::vector<std::string> labels(const Json& items) {
  std::vector<std::string> found;
  for (const Json& item : items) found.push_back(item["label"]);
  return found;
}
bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kText = R"(/// A soft threshold.
op soft_threshold(x; by = 0.5) = sign(x) * max(abs(x) - by, 0)

opclass wide = elementwise | movement

rewrite soft-twice exactness(reassociating) {
  match soft_threshold(soft_threshold(x, by = a), by = b)
  where is_float(x), a > 0, b > 0
  to soft_threshold(x, by = a + b)
  test named { x: f32[8, n]  let s = reshape(x, [2, 4, n])  match soft_threshold(soft_threshold(s, by = 0.25), by = 0.5) }
  reject because b > 0 { x: f32[8]  match soft_threshold(soft_threshold(x), by = -0.5) }
}

fuse conv-wide kernel(conv) {
  match conv(x, w) as c |> wide* as tail
  where single_use(c)
  test { x: f32[1, 8, 8, 8]  w: f32[8, 8, 3, 3]  match relu(conv(x, w))  kernels 1 }
  reject { x: f32[8]  match exp(x) }
}
)";

}  // namespace

TEST_CASE("the server starts, says what it can do, and ends as it is told", "[lsp]") {
  Client client;
  CHECK(client.ask("textDocument/hover")["error"]["code"] == -32002);
  client.notify("textDocument/didOpen", Json::object());  // before initialize: nothing happens

  const Json capabilities = client.result("initialize", {{"capabilities", Json::object()}})["capabilities"];
  for (const char* able : {"hoverProvider", "definitionProvider", "referencesProvider", "documentSymbolProvider",
                           "completionProvider", "documentFormattingProvider", "codeActionProvider"})
    CHECK(capabilities.contains(able));
  CHECK(capabilities["positionEncoding"] == "utf-16");
  CHECK(client.ask("initialize")["error"]["code"] == -32600);
  CHECK(client.ask("textDocument/unheard")["error"]["code"] == -32601);
  client.notify("$/unheard", Json::object());
  const Json without_place = client.ask("textDocument/hover")["error"];
  CHECK(without_place["code"] == -32602);
  CHECK(without_place["message"] == "parameters of textDocument/hover: key 'textDocument' not found");
  CHECK(client.ask("textDocument/hover", place(kText, "op"))["error"]["code"] == -32602);  // not open

  CHECK(client.ask("shutdown")["result"].is_null());
  CHECK(client.ask("textDocument/hover")["error"]["code"] == -32600);
  client.notify("exit", Json::object());
  CHECK(client.exit_code() == 0);
}

TEST_CASE("without shutdown the server ends with 1", "[lsp]") {
  Client left, told;
  left.initialize();
  CHECK(left.exit_code() == 1);
  told.initialize();
  told.notify("exit", Json::object());
  CHECK(told.exit_code() == 1);
}

TEST_CASE("broken messages get the protocol's errors, and the next one is read", "[lsp]") {
  Client client;
  client.initialize();
  const auto refused = [&](const std::string& bytes, int code) {
    INFO(bytes.substr(0, 200));
    client.raw(bytes);
    const Json answer = client.read();
    CHECK(answer["id"].is_null());
    CHECK(answer["error"]["code"] == code);
  };
  const auto framed = [](const std::string& body) {
    return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  refused(framed("{nonsense"), -32700);
  refused(framed(""), -32700);
  refused(framed("\xff\xfe"), -32700);
  refused(framed("[]"), -32600);
  refused(framed("3"), -32600);
  refused(framed("{}"), -32600);
  refused(framed(R"({"jsonrpc":"2.0","id":{"a":[1]},"method":7})"), -32600);
  refused("Content-Length: many\r\n\r\n", -32700);
  refused("Content-Length: -5\r\n\r\n", -32700);
  refused("Content-Length: 99999999999999999999\r\n\r\n", -32700);
  refused("Content-Type: text\r\n\r\n", -32700);
  refused("no header at all\r\n\r\n", -32700);
  refused(framed(std::string(100000, '[')), -32700);
  refused("Content-Length: 2\r\n\r\n{\"jsonrpc\": 2}", -32700);  // longer than it says
  // Other headers are allowed, and case does not matter.
  const std::string shutdown = R"({"jsonrpc":"2.0","id":"last","method":"shutdown"})";
  client.raw("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:" +
             std::to_string(shutdown.size()) + "\r\n\r\n" + shutdown);
  CHECK(client.read()["id"] == "last");
}

TEST_CASE("diagnostics come with their places in UTF-16 units, second places and lints", "[lsp]") {
  Client client;
  client.initialize();
  // An umlaut is one unit, a clef outside the basic plane two; both stand in front of the error.
  client.open(kUri,
              "op f(x) = x\nop g(x) = select(\"\xc3\xa4\xf0\x9d\x84\x9e\" == \"a\", relux(x), x)\nop f(x) = -x\n");
  const Json found = client.diagnostics(kUri);
  INFO(found.dump(2));
  REQUIRE(found.size() == 2);
  CHECK(has(found[0]["message"].get<std::string>(), "did you mean 'relu'?"));
  CHECK(found[0]["severity"] == 1);
  CHECK(found[0]["range"]["start"] == Json{{"line", 1}, {"character", 31}});
  CHECK(found[0]["range"]["end"] == Json{{"line", 1}, {"character", 36}});
  REQUIRE(found[1]["relatedInformation"].size() == 1);
  CHECK(found[1]["relatedInformation"][0]["location"]["uri"] == kUri);

  const Json actions = client.result(
      "textDocument/codeAction",
      {{"textDocument", {{"uri", kUri}}}, {"range", found[0]["range"]}, {"context", {{"diagnostics", found}}}});
  REQUIRE(actions.size() == 1);
  CHECK(actions[0]["edit"]["changes"][kUri][0]["newText"] == "relu");
  CHECK(actions[0]["edit"]["changes"][kUri][0]["range"] == found[0]["range"]);

  client.replace(kUri, "rewrite r {\n  match exp(x) as unused\n  to exp(x)\n}\n");
  const Json warnings = client.diagnostics(kUri);
  REQUIRE_FALSE(warnings.empty());
  CHECK(std::all_of(warnings.begin(), warnings.end(), [](const Json& d) { return d["severity"] != 1; }));
  CHECK(std::any_of(warnings.begin(), warnings.end(), [](const Json& d) { return d.contains("code"); }));

  client.notify("textDocument/didClose", {{"textDocument", {{"uri", kUri}}}});
  CHECK(client.diagnostics(kUri).empty());
}

TEST_CASE("changes of a range are made where UTF-16 says", "[lsp]") {
  Client client;
  client.initialize();
  client.open(kUri, "# \xf0\x9d\x84\x9e clef\r\nop f(x) = relux(x)\r\n");
  CHECK(client.diagnostics(kUri).size() == 1);
  const auto edit = [](int line, int from, int to, const std::string& text) {
    const Json start = {{"line", line}, {"character", from}}, end = {{"line", line}, {"character", to}};
    return Json{{"range", {{"start", start}, {"end", end}}}, {"text", text}};
  };
  client.change(kUri,
                Json::array({edit(1, 10, 15, "relu"), edit(0, 5, 9, "note"), edit(99, 0, 0, "op g(x) = f(x)\r\n")}));
  CHECK(client.diagnostics(kUri).empty());
  const Json document = {{"textDocument", {{"uri", kUri}}}};
  const Json symbols = client.result("textDocument/documentSymbol", document);
  REQUIRE(symbols.size() == 2);
  CHECK(symbols[1]["name"] == "g");
  CHECK(symbols[1]["selectionRange"]["start"] == Json{{"line", 2}, {"character", 3}});
  // A change that is none leaves the text as it was.
  client.change(kUri, Json::array({Json{{"range", 3}, {"text", "x"}}}));
  CHECK(client.result("textDocument/documentSymbol", document).size() == 2);
}

TEST_CASE("what another window of the editor holds counts for the files that include it", "[lsp]") {
  Scratch scratch;
  const std::string base = "file://" + scratch.write("base.fuse", "op base(x) = x\n");
  const std::string user = "file://" + scratch.file("user.fuse");  // not saved yet
  scratch.write("other.fuse", "op beside(x) = x\nop user(x) = -x\n");
  Client client;
  client.initialize();
  client.open(user, "include \"base.fuse\"\nop user(x) = doubled(x)\n");
  CHECK(client.diagnostics(user).size() == 1);
  client.open(base, "op doubled(x) = x + x\n");
  CHECK(client.diagnostics(user).empty());
  Json at = {{"textDocument", {{"uri", user}}}, {"position", {{"line", 1}, {"character", 15}}}};
  const Json found = client.result("textDocument/definition", at);
  CHECK(found["uri"] == base);
  CHECK(found["range"]["start"] == Json{{"line", 0}, {"character", 3}});
  CHECK(client.result("textDocument/references", at).size() == 2);  // without a context the declaration counts
  at["context"] = {{"includeDeclaration", true}};
  CHECK(client.result("textDocument/references", at).size() == 2);
  at["position"] = {{"line", 0}, {"character", 12}};
  CHECK(client.result("textDocument/definition", at)["uri"] == base);

  client.notify("textDocument/didClose", {{"textDocument", {{"uri", base}}}});
  CHECK(client.diagnostics(user).size() == 1);
  // A file beside it counts where it declares what is used, and only there.
  client.replace(user, "op mine(x) = beside(x)\n");
  CHECK(client.diagnostics(user).empty());
  client.replace(user, "include \"gone.fuse\"\n");
  CHECK(client.diagnostics(user).size() == 1);
}

TEST_CASE("hover tells what a name is", "[lsp]") {
  Client client;
  client.initialize();
  client.open(kUri, kText);
  const auto shows = [&](const std::string& part, int n, const std::string& expected) {
    const Json hover = client.result("textDocument/hover", place(kText, part, n));
    INFO(part << " " << n << "\n" << hover.dump(2));
    REQUIRE(hover.is_object());
    CHECK(has(hover["contents"]["value"].get<std::string>(), expected));
  };
  shows("soft_threshold", 1, "A soft threshold.");
  shows("soft_threshold", 1, "op soft_threshold(x; by = 0.5)");
  shows("a > 0", 0, "a: float");
  shows("x, by", 0, "tensor");
  shows("by = a", 0, "Attribute of `soft_threshold`");
  shows("abs", 0, "abs(x)");
  shows("conv(x", 0, "groups: int = 1");
  shows("c |>", 0, "conv as c");
  shows("elementwise", 0, "operators: `");
  shows("wide*", 0, "opclass wide");
  shows("reassociating", 0, "order of sums");
  shows("is_float", 0, "is_float(x)");
  shows("single_use", 0, "one reader");
  shows("x: f32", 0, "x: f32[8, n]");
  shows("s = reshape", 0, "Here `f32[2,4,n]`.");
  shows("reshape(x", 0, "Here `f32[2,4,n]`.");
  shows("conv(x", 1, "Here `f32[1,8,6,6]`.");
  shows("match", 0, "pattern");
  CHECK(client.result("textDocument/hover", place(kText, "A soft")).is_null());  // in a comment
}

TEST_CASE("hover tells an operator in an example from the ones around it", "[lsp]") {
  const std::string text = R"(rewrite sums {
  match exp(x)
  to exp(x + 0)
  test { x: f32[2, 3]  y: f32[3]  match exp(reduce_sum(x, axes = [2 - 1]) * 2) along 0 / -(x - y) > 0 }
}
)";
  Client client;
  client.initialize();
  client.open(kUri, text);
  const auto shown = [&](const std::string& part, int n = 0) {
    const Json hover = client.result("textDocument/hover", place(text, part, n));
    return hover.is_null() ? std::string() : hover["contents"]["value"].get<std::string>();
  };
  CHECK(has(shown("exp(reduce"), "Here `f32[2]`."));
  CHECK(has(shown("reduce_sum"), "Here `f32[2]`."));
  CHECK(has(shown("* 2"), "mul(a, b)"));
  CHECK(has(shown("* 2"), "Here `f32[2]`."));
  CHECK(has(shown("/ -"), "Here `f32[2,3]`."));
  CHECK(has(shown("-(x"), "neg(x)"));
  CHECK(has(shown("- y"), "sub(a, b)"));
  CHECK(has(shown("> 0"), "Here `pred[2,3]`."));
  CHECK(shown("- 1").empty());  // of numbers
}

TEST_CASE("definitions, references and symbols", "[lsp]") {
  Client client;
  client.initialize();
  client.open(kUri, kText);
  const auto line_of = [&](const std::string& part) {
    const Json found = client.result("textDocument/definition", place(kText, part));
    return found.is_null() ? -1 : found["range"]["start"]["line"].get<int>();
  };
  CHECK(line_of("soft_threshold(x, by = a + b)") == 1);
  CHECK(line_of("a + b") == 6);
  CHECK(line_of("by = a + b") == 1);
  CHECK(line_of("by, 0") == 1);
  CHECK(line_of("wide*") == 3);
  CHECK(line_of("c)\n  test") == 14);
  CHECK(line_of("conv(x, w))") == -1);
  const Json relu = client.result("textDocument/definition", place(kText, "relu"));
  CHECK(has(relu["uri"].get<std::string>(), "operators.fuse"));

  Json params = place(kText, "a > 0");
  params["context"] = {{"includeDeclaration", false}};
  CHECK(client.result("textDocument/references", params).size() == 2);
  params = place(kText, "soft_threshold");
  params["context"] = {{"includeDeclaration", true}};
  CHECK(client.result("textDocument/references", params).size() == 8);

  const Json symbols = client.result("textDocument/documentSymbol", {{"textDocument", {{"uri", kUri}}}});
  REQUIRE(symbols.size() == 4);
  CHECK(symbols[2]["name"] == "soft-twice");
  REQUIRE(symbols[2]["children"].size() == 2);
  CHECK(symbols[2]["children"][0]["name"] == "test named");
}

TEST_CASE("completion offers what may stand there", "[lsp]") {
  Client client;
  client.initialize();
  const auto offered = [&](const std::string& before, const std::string& after = "") {
    client.open(kUri, before + after);
    const std::size_t start = before.rfind('\n');
    const std::size_t column = start == std::string::npos ? before.size() : before.size() - start - 1;
    return labels(client.result(
        "textDocument/completion",
        {{"textDocument", {{"uri", kUri}}},
         {"position", {{"line", std::count(before.begin(), before.end(), '\n')}, {"character", column}}}}));
  };
  CHECK(offered("")[0] == "rewrite");
  CHECK(has(offered("op f(x) = x\nre"), "rewrite"));
  CHECK(offered("rewrite r ")[0] == "exactness");
  CHECK(has(offered("rewrite r exactness("), "excess_precision"));
  CHECK(has(offered("fuse r kernel("), "horizontal"));
  CHECK(has(offered("allow("), "unused-name"));
  CHECK(offered("rewrite r {\n  ", "\n}")[0] == "match");
  CHECK(has(offered("rewrite r {\n  match exp(x)\n  w"), "where"));
  const auto attributes = offered("rewrite r {\n  match broadcast(x, ");
  REQUIRE(attributes.size() > 2);
  CHECK(attributes[0] == "dims");
  CHECK(attributes[1] == "shape");
  const auto names = offered("rewrite r {\n  match broadcast(x, dims = d) as c\n  where ");
  CHECK(names[0] == "x");
  CHECK((has(names, "d") && has(names, "c") && has(names, "is_float") && has(names, "constant")));
  CHECK(offered("rewrite r {\n  match broadcast(x) as c\n  where c.")[0] == "dims");
  CHECK(offered("rewrite r {\n  match top_k(x).")[0] == "values");
  CHECK(has(offered("fuse r {\n  match "), "elementwise"));
  CHECK(has(offered("op f(x; slope = 1.0) = x * s"), "slope"));
  CHECK(has(offered("rewrite r {\n  match x\n  test { x: "), "bf16"));
  CHECK(has(offered("rewrite r {\n  match x\n  test { x: f32[2]\n  "), "kernels"));
  CHECK_FALSE(has(offered("rewrite r {\n  match red"), "red"));
  CHECK(offered("op f(x; a: ")[0] == "int");
  CHECK_FALSE(has(offered("op f(x; a: "), "exp"));
  CHECK(offered("# in a comment ").empty());
  CHECK(offered("include \"oth").empty());
}

TEST_CASE("formatting gives the edit that fmt would make, and none for a broken file", "[lsp]") {
  Client client;
  client.initialize();
  const Json params = {{"textDocument", {{"uri", kUri}}}, {"options", {{"tabSize", 2}, {"insertSpaces", true}}}};
  client.open(kUri, "# \xc3\xa4\nop f(x)=x*2\n");
  const Json edits = client.result("textDocument/formatting", params);
  REQUIRE(edits.size() == 1);
  client.change(kUri, Json::array({Json{{"range", edits[0]["range"]}, {"text", edits[0]["newText"]}}}));
  CHECK(client.result("textDocument/formatting", params).empty());
  client.open(kUri, "op f(x = x\n");
  CHECK(client.result("textDocument/formatting", params).empty());
}

TEST_CASE("whatever is typed, the server answers", "[lsp]") {
  Client client;
  client.initialize();
  const std::string pieces[] = {"(", "}",   "rewrite ", "match ", "as ", "\"",
                                "[", "...", "\xc3\xa4", "test {", "=",   "|> "};
  std::uint32_t state = 5;
  const auto random = [&](std::size_t below) { return (state = state * 1664525 + 1013904223) / 65536 % below; };
  for (int i = 0; i < 25; ++i) {
    std::string text = kText;
    for (int k = 0; k < 4; ++k) {
      const std::size_t at = random(text.size());
      if (random(2) == 0)
        text.insert(at, pieces[random(std::size(pieces))]);
      else
        text.erase(at, random(30));
    }
    text = Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
    client.open(kUri, text);
    const Json params = {{"textDocument", {{"uri", kUri}}},
                         {"position", {{"line", random(22)}, {"character", random(60)}}},
                         {"context", {{"includeDeclaration", true}}}};
    for (const std::string method : {"hover", "definition", "references", "completion", "documentSymbol"})
      CHECK(client.ask("textDocument/" + method, params).contains("result"));
  }
  CHECK(client.ask("shutdown").contains("result"));
}
