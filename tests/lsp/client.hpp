#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/cli/program.hpp"

namespace fusewright::tests {

using Json = nlohmann::json;

/// An editor: runs the language server and speaks with it over pipes.
class Client {
 public:
  Client() {
    std::signal(SIGPIPE, SIG_IGN);
    int to[2], from[2];
    REQUIRE(pipe2(to, O_CLOEXEC) == 0);  // not for the servers of other clients
    REQUIRE(pipe2(from, O_CLOEXEC) == 0);
    server_ = fork();
    if (server_ == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      execl(FUSEWRIGHT_PROGRAM, "fusewright", "lsp", nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  ~Client() {
    if (to_ >= 0) close(to_);
    close(from_);
    if (server_ > 0) waitpid(server_, nullptr, 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void raw(const std::string& bytes) {
    REQUIRE(write(to_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  void send(const Json& message) {
    const std::string body = message.dump();
    raw("Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  void notify(const std::string& method, const Json& params) {
    send({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
  }
  /// The whole answer; what else comes in between is kept.
  Json ask(const std::string& method, const Json& params = Json::object()) {
    const int id = ++asked_;
    send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}});
    for (;;) {
      const Json message = read();
      if (message.contains("id")) {
        REQUIRE(message["id"] == id);
        return message;
      }
      notifications_.push_back(message);
    }
  }
  Json result(const std::string& method, const Json& params) {
    const Json answer = ask(method, params);
    INFO(answer.dump(2));
    REQUIRE(answer.contains("result"));
    return answer["result"];
  }
  /// The next message from the server, whatever it is.
  Json read() {
    std::size_t length = 0;
    for (std::string line; !(line = take_line()).empty();) {
      REQUIRE(line.starts_with("Content-Length: "));
      length = std::stoul(line.substr(16));
    }
    std::string body;
    while (body.size() < length) body += take();
    return Json::parse(body);
  }
  /// The diagnostics that the server publishes next for a document.
  Json diagnostics(const std::string& uri) {
    for (;;) {
      if (notifications_.empty()) notifications_.push_back(read());
      const Json message = notifications_.front();
      notifications_.pop_front();
      if (message.value("method", "") == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri)
        return message["params"]["diagnostics"];
    }
  }

  void initialize() {
    REQUIRE(ask("initialize", {{"processId", nullptr}, {"rootUri", nullptr}, {"capabilities", Json::object()}})
                .contains("result"));
    notify("initialized", Json::object());
  }
  void open(const std::string& uri, const std::string& text) {
    notify("textDocument/didOpen",
           {{"textDocument", {{"uri", uri}, {"languageId", "fuse"}, {"version", 1}, {"text", text}}}});
  }
  void change(const std::string& uri, const Json& changes) {
    notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", 2}}}, {"contentChanges", changes}});
  }
  void replace(const std::string& uri, const std::string& text) { change(uri, Json::array({Json{{"text", text}}})); }
  /// Ends the input and waits.
  int exit_code() {
    close(std::exchange(to_, -1));
    int status = 0;
    waitpid(std::exchange(server_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  char take() {
    if (at_ == buffer_.size()) {
      pollfd ready{from_, POLLIN, 0};
      REQUIRE(poll(&ready, 1, 60'000) == 1);  // a server that says nothing fails the test, it does not hang it
      buffer_.resize(1 << 16);
      const ssize_t got = ::read(from_, buffer_.data(), buffer_.size());
      REQUIRE(got > 0);
      buffer_.resize(static_cast<std::size_t>(got));
      at_ = 0;
    }
    return buffer_[at_++];
  }
  std::string take_line() {
    std::string line;
    while (!line.ends_with("\r\n")) line += take();
    line.resize(line.size() - 2);
    return line;
  }

  pid_t server_ = -1;
  int to_ = -1, from_ = -1, asked_ = 0;
  std::string buffer_;
  std::size_t at_ = 0;
  std::deque<Json> notifications_;
};

}  // namespace fusewright::tests
