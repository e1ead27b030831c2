#include "fusewright/lsp/server.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <new>
#include <utility>

#include "fusewright/rule/format.hpp"
#include "src/lsp/features.hpp"

namespace fusewright::lsp {

namespace {

// Of JSON-RPC and of the protocol.
constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601, kInvalidParams = -32602,
              kInternalError = -32603, kNotInitialized = -32002;

/// An answer that is an error.
struct Refusal {
  int code = 0;
  std::string message;
};

Json capabilities() {
  return {{"positionEncoding", "utf-16"},
          {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
          {"hoverProvider", true},
          {"definitionProvider", true},
          {"referencesProvider", true},
          {"documentSymbolProvider", true},
          {"completionProvider", {{"triggerCharacters", {".", "(", ","}}}},
          {"documentFormattingProvider", true},
          {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}}};
}

int severity_number(Severity severity) {
  switch (severity) {
    case Severity::kError: return 1;
    case Severity::kWarning: return 2;
    case Severity::kNote: return 3;
  }
  return 1;
}

class Server {
 public:
  Server(const Options& options, int in, int out) : transport_(in, out), workspace_(options.rules) {}

  int run() {
    for (;;) {
      if (!transport_.ready()) publish_all();
      const auto message = transport_.read();
      const Json json = message ? Json::parse(message->body, nullptr, false) : Json();
      // What is typed faster than it is checked is checked once.
      const bool typing = json.is_object() && json.value("method", Json()) == "textDocument/didChange";
      if (!typing) publish_all();
      if (!message) return 1;
      if (!message->problem.empty())
        refuse(nullptr, {kParseError, message->problem});
      else if (json.is_discarded())
        refuse(nullptr, {kParseError, "the message is no JSON"});
      else
        handle(json);
      if (exit_) return shut_down_ ? 0 : 1;
    }
  }

 private:
  // --- Messages ----------------------------------------------------------------------------------------

  void refuse(const Json& id, const Refusal& refusal) {
    transport_.write(
        {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", refusal.code}, {"message", refusal.message}}}});
  }

  void handle(const Json& message) {
    const bool object = message.is_object();
    const auto id_at = object ? message.find("id") : message.end();
    const bool has_id = object && id_at != message.end();
    const Json id = has_id && (id_at->is_string() || id_at->is_number()) ? *id_at : Json(nullptr);
    const auto method_at = object ? message.find("method") : message.end();
    if (object && method_at == message.end() && has_id && (message.contains("result") || message.contains("error")))
      return;  // an answer; nothing was asked
    if (!object || method_at == message.end() || !method_at->is_string())
      return refuse(id, {kInvalidRequest, "not a request: an object with a method is expected"});
    const std::string& method = method_at->get_ref<const std::string&>();
    const auto params_at = message.find("params");
    const Json params = params_at == message.end() ? Json::object() : *params_at;
    try {
      if (!has_id) return notify(method, params);
      const Json result = request(method, params);
      transport_.write({{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
    } catch (const Refusal& refusal) {
      refuse(id, refusal);
    } catch (const Json::exception& error) {
      const std::string what = error.what();  // "[json.exception.out_of_range.403] key 'position' not found"
      const std::size_t words = what.find("] ");
      const std::string why = words == std::string::npos ? what : what.substr(words + 2);
      if (has_id) refuse(id, {kInvalidParams, "parameters of " + method + ": " + why});
    } catch (const std::bad_alloc&) {
      if (has_id) refuse(id, {kInternalError, "out of memory"});
    }
  }

  Json request(const std::string& method, const Json& params) {
    if (method == "initialize") {
      if (initialized_) throw Refusal{kInvalidRequest, "initialized already"};
      initialized_ = true;
      return {{"capabilities", capabilities()}, {"serverInfo", {{"name", "fusewright"}}}};
    }
    if (!initialized_) throw Refusal{kNotInitialized, "not initialized"};
    if (shut_down_) throw Refusal{kInvalidRequest, "shut down"};
    if (method == "shutdown") {
      shut_down_ = true;
      return nullptr;
    }
    static const std::map<std::string, Json (Server::*)(const Json&)> kMethods{
        {"textDocument/hover", &Server::on_hover},
        {"textDocument/definition", &Server::on_definition},
        {"textDocument/references", &Server::on_references},
        {"textDocument/documentSymbol", &Server::on_symbols},
        {"textDocument/completion", &Server::on_completion},
        {"textDocument/formatting", &Server::on_formatting},
        {"textDocument/codeAction", &Server::on_code_action},
    };
    const auto found = kMethods.find(method);
    if (found == kMethods.end()) throw Refusal{kMethodNotFound, "no method '" + method + "'"};
    return (this->*found->second)(params);
  }

  /// Those that are not known mean nothing to this server.
  void notify(const std::string& method, const Json& params) {
    if (method == "exit") {
      exit_ = true;
      return;
    }
    if (!initialized_ || shut_down_ || !method.starts_with("textDocument/")) return;
    const Json& document = params.at("textDocument");
    const std::string& uri = document.at("uri").get_ref<const std::string&>();
    const std::string path = path_of_uri(uri).value_or(uri);
    if (method == "textDocument/didOpen") {
      workspace_.open(path, document.at("text").get<std::string>());
      open_[path] = {uri, document.value("version", Json(nullptr)), true};
      return;
    }
    const auto at = open_.find(path);
    if (at == open_.end()) return;
    if (method == "textDocument/didChange") {
      std::string text = workspace_.opened(path)->source->text;
      for (const Json& change : params.at("contentChanges")) text = with_change(text, change);
      workspace_.open(path, std::move(text));
      at->second.version = document.value("version", Json(nullptr));
      at->second.changed = true;
    } else if (method == "textDocument/didSave") {
      at->second.changed = true;
    } else if (method == "textDocument/didClose") {
      open_.erase(at);
      workspace_.close(path);
    }
  }

  // --- Diagnostics -------------------------------------------------------------------------------------

  Json to_json(const rule::Finding& finding) const {
    const Diagnostic& d = finding.diagnostic;
    const std::string text = d.span.valid() ? d.span.source->text : std::string();
    Json json = {{"range", Lines(text).range(d.span.begin, d.span.end)},
                 {"severity", severity_number(d.severity)},
                 {"source", "fusewright"},
                 {"message", d.suggestion.empty() ? d.message : d.message + "\n" + d.suggestion}};
    if (!finding.lint.empty()) json["code"] = finding.lint;
    for (const Note& note : d.notes) {
      if (!note.span.valid()) continue;
      json["relatedInformation"].push_back(
          {{"location",
            {{"uri", uri_of(note.span.source->name)},
             {"range", Lines(note.span.source->text).range(note.span.begin, note.span.end)}}},
           {"message", note.message}});
    }
    return json;
  }

  /// As the client writes it, where it has opened the file.
  std::string uri_of(const std::string& path) const {
    const auto at = open_.find(path);
    return at == open_.end() ? uri_of_path(path) : at->second.uri;
  }

  /// What is wrong with every open file and with those that they are checked with, where that has changed.
  void publish_all() {
    std::map<std::string, Json> found;
    for (const auto& [path, document] : open_) {
      found.emplace(path, Json::array());
      for (const auto& [where, diagnostics] : workspace_.analyse(path).found) {
        const auto [at, fresh] = found.emplace(where.empty() ? path : where, Json::array());
        for (const rule::Finding& finding : diagnostics) {
          Json json = to_json(finding);
          if (std::find(at->second.begin(), at->second.end(), json) == at->second.end())
            at->second.push_back(std::move(json));
        }
      }
    }
    for (const auto& [path, unused] : published_) found.emplace(path, Json::array());
    for (auto& [path, diagnostics] : found) {
      const auto document = open_.find(path);
      const bool asked = document != open_.end() && std::exchange(document->second.changed, false);
      const auto before = published_.find(path);
      const bool same = before == published_.end() ? diagnostics.empty() : before->second == diagnostics;
      if (same && !asked) continue;
      Json params = {{"uri", uri_of(path)}, {"diagnostics", diagnostics}};
      if (document != open_.end() && document->second.version.is_number()) params["version"] = document->second.version;
      transport_.write({{"jsonrpc", "2.0"}, {"method", "textDocument/publishDiagnostics"}, {"params", params}});
      if (diagnostics.empty())
        published_.erase(path);
      else
        published_[path] = std::move(diagnostics);
    }
  }

  // --- Requests ----------------------------------------------------------------------------------------

  std::string open_path(const Json& params) const {
    const std::string uri = params.at("textDocument").at("uri").get<std::string>();
    const std::string path = path_of_uri(uri).value_or(uri);
    if (!open_.contains(path)) throw Refusal{kInvalidParams, "the document is not open: " + uri};
    return path;
  }

  template <class Answer>
  Json at_place(const Json& params, Answer answer) {
    const Analysis& analysis = workspace_.analyse(open_path(params));
    const Subject subject{analysis, analysis.rules == nullptr ? builtin_ : *analysis.rules->table,
                          [this](const std::string& path) { return uri_of(path); }};
    return answer(subject, Lines(subject.outline().text).offset(position_of(params.at("position"))));
  }

  Json on_hover(const Json& params) { return at_place(params, hover); }
  Json on_definition(const Json& params) { return at_place(params, definition); }
  Json on_completion(const Json& params) { return at_place(params, completion); }
  Json on_references(const Json& params) {
    const Json context = params.value("context", Json::object());
    const bool with_declaration = !context.is_object() || context.value("includeDeclaration", Json(true)) != false;
    return at_place(params, [&](const Subject& s, std::size_t at) { return references(s, at, with_declaration); });
  }
  Json on_symbols(const Json& params) { return document_symbols(workspace_.opened(open_path(params))->outline); }

  /// One edit of what differs; none where the file cannot be read or is formatted.
  Json on_formatting(const Json& params) {
    const SourcePtr source = workspace_.opened(open_path(params))->source;
    const Result<std::string> formatted = rule::format_rules(source);
    if (!formatted || *formatted == source->text) return Json::array();
    const std::string& old = source->text;
    const auto is_middle = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
    std::size_t begin = 0, end = old.size(), stop = formatted->size();
    while (begin < std::min(end, stop) && old[begin] == (*formatted)[begin]) ++begin;
    while (begin > 0 && (is_middle(old[begin]) || old[begin - 1] == '\r')) --begin;
    while (end > begin && stop > begin && old[end - 1] == (*formatted)[stop - 1]) --end, --stop;
    while (end < old.size() && (is_middle(old[end]) || old[end] == '\n')) ++end, ++stop;
    return Json::array(
        {{{"range", Lines(old).range(begin, end)}, {"newText", formatted->substr(begin, stop - begin)}}});
  }

  /// What a diagnostic in the range suggests.
  Json on_code_action(const Json& params) {
    const std::string path = open_path(params);
    const Analysis& analysis = workspace_.analyse(path);
    const Lines lines(workspace_.opened(path)->source->text);
    const std::size_t begin = lines.offset(position_of(params.at("range").at("start")));
    const std::size_t end = lines.offset(position_of(params.at("range").at("end")));
    Json actions = Json::array();
    const auto found = analysis.found.find(path);
    if (found == analysis.found.end()) return actions;
    for (const rule::Finding& finding : found->second) {
      const Diagnostic& d = finding.diagnostic;
      const bool names =
          d.suggestion.starts_with("did you mean '") || d.suggestion.starts_with("the operator is named");
      const std::size_t open = d.suggestion.find('\''), close = d.suggestion.rfind('\'');
      if (!names || close <= open || d.span.end < begin || d.span.begin > end) continue;
      const std::string meant = d.suggestion.substr(open + 1, close - open - 1);
      const Json edit = {{"range", lines.range(d.span.begin, d.span.end)}, {"newText", meant}};
      actions.push_back({{"title", "Change to '" + meant + "'"},
                         {"kind", "quickfix"},
                         {"diagnostics", Json::array({to_json(finding)})},
                         {"isPreferred", true},
                         {"edit", {{"changes", {{uri_of(path), Json::array({edit})}}}}}});
    }
    return actions;
  }

  struct Document {
    std::string uri;
    Json version;
    bool changed = true;  ///< diagnostics are owed, be they the same
  };
  Transport transport_;
  Workspace workspace_;
  ops::OpTable builtin_ = ops::OpTable::builtin();
  std::map<std::string, Document> open_;   ///< by path
  std::map<std::string, Json> published_;  ///< by path, where there are any
  bool initialized_ = false, shut_down_ = false, exit_ = false;
};

}  // namespace

int serve(const Options& options, int in, int out) { return Server(options, in, out).run(); }

}  // namespace fusewright::lsp
