#include "src/lsp/transport.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>

namespace fusewright::lsp {

namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kLongestBody = std::size_t{1} << 28;

/// The value of a Content-Length header, wherever in the line it stands: behind a body that was longer than its own
/// header said, it follows on the same line.
std::optional<std::string> content_length(const std::string& line) {
  static const std::string kName = "content-length:";
  const auto at = std::search(line.begin(), line.end(), kName.begin(), kName.end(),
                              [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  if (at == line.end()) return std::nullopt;
  std::string value(at + static_cast<std::ptrdiff_t>(kName.size()), line.end());
  value.erase(0, std::min(value.find_first_not_of(" \t"), value.size()));
  value.erase(value.find_last_not_of(" \t\r") + 1);
  return value;
}

}  // namespace

bool Transport::fill() {
  if (at_ > 0) buffer_.erase(0, std::exchange(at_, 0));
  const std::size_t size = buffer_.size();
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  buffer_.resize(size + kChunk);
  ssize_t got = 0;
  do got = ::read(in_, buffer_.data() + size, kChunk);
  while (got < 0 && errno == EINTR);
  buffer_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return got > 0;
}

/// Up to the next line end; a line longer than any header is cut, for what is passed over may be of any length.
std::optional<std::string> Transport::line() {
  std::string found;
  for (;;) {
    const std::size_t end = buffer_.find('\n', at_);
    const std::size_t stop = std::min(end, buffer_.size());
    found.append(buffer_, at_, stop - at_);
    if (found.size() > kLongestLine) found.erase(0, found.size() - kLongestLine);
    at_ = stop;
    if (end != std::string::npos) {
      ++at_;
      if (!found.empty() && found.back() == '\r') found.pop_back();
      return found;
    }
    if (!fill()) return std::nullopt;
  }
}

std::optional<Transport::Incoming> Transport::read() {
  std::optional<std::string> length;
  bool stray = false;  // a line that is no header
  for (;;) {
    const std::optional<std::string> header = line();
    if (!header) return std::nullopt;
    if (header->empty()) {
      if (length) break;
      if (stray) return Incoming{{}, "a message without Content-Length"};
      continue;
    }
    if (auto value = content_length(*header))
      length = std::move(value);
    else
      stray = stray || !length;
  }
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(length->data(), length->data() + length->size(), size);
  if (error != std::errc() || end != length->data() + length->size() || length->empty())
    return Incoming{{}, "Content-Length is no number: " + *length};
  if (size > kLongestBody) return Incoming{{}, "a message of " + *length + " bytes is too long"};
  while (buffer_.size() - at_ < size)
    if (!fill()) return std::nullopt;
  Incoming message{buffer_.substr(at_, size), {}};
  at_ += size;
  return message;
}

bool Transport::ready() const {
  if (at_ < buffer_.size()) return true;
  pollfd poll_in{in_, POLLIN, 0};
  return poll(&poll_in, 1, 0) > 0;
}

void Transport::write(const Json& message) {
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string framed = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  for (std::size_t done = 0; done < framed.size();) {
    const ssize_t written = ::write(out_, framed.data() + done, framed.size() - done);
    if (written < 0 && errno != EINTR) return;  // the client is gone: the input ends as well
    done += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }
}

}  // namespace fusewright::lsp
