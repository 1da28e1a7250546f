# Only uwsrp, in the same container, has to reach this port.
bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"

# Left alone, Puma takes this for a developer's machine and shows the backtrace of an error to visitors.
environment ENV.fetch("RACK_ENV", "production")

# WEB_CONCURRENCY, Puma's own variable, sets the number of processes; without it there is one.
threads 1, 5

# SIGTERM is how a deploy ends the app, and no failure: end with 0, not with 143.
raise_exception_on_sigterm false

# Requests in flight get this long; uwsrp waits longer for the app (UWSRP_SHUTDOWN_TIMEOUT).
force_shutdown_after 4
