# A Rack app without a framework; one of Sinatra or Rails is served the same way.
require "json"

PAGE = File.read(File.join(__dir__, "index.html"))

# What the app knows of the client, by way of uwsrp. Only uwsrp can reach this port, so its word can be taken.
def seen(env)
  {
    # Puma takes it from X-Forwarded-Proto.
    scheme: env["rack.url_scheme"],
    host: env["HTTP_X_FORWARDED_HOST"],
    # The last address is the one that the nearest proxy saw; those before it may be made up.
    client: env["HTTP_X_FORWARDED_FOR"].split(",").last.strip,
    id: env["HTTP_X_REQUEST_ID"],
    server: "Ruby #{RUBY_VERSION}, Puma #{Puma::Const::VERSION}"
  }
end

def answer(status, type, body)
  [status, { "content-type" => type, "cache-control" => "no-store" }, [body]]
end

run lambda { |env|
  case env["PATH_INFO"]
  when "/" then answer(200, "text/html; charset=utf-8", PAGE)
  when "/request" then answer(200, "application/json", JSON.generate(seen(env)))
  else answer(404, "text/plain; charset=utf-8", "There is nothing here.\n")
  end
}
